#include <cmath>
#include <exception>

#include "base/check.h"
#include "hardware/probes.h"

namespace headrace::hardware {

class Session::State : public Workbench {
 public:
  using Workbench::Workbench;
};

Session::Session(Options options) : state_(std::make_unique<State>(std::move(options))) {}
Session::~Session() = default;

Measurement Session::measure(std::string_view name) {
  const Probe& probe = find_probe(name);
  Measurement result{.name = probe.description.name, .unit = probe.description.unit};
  try {
    Figure figure = probe.measure(*state_);
    check(std::isfinite(figure.value) && figure.value > 0, ErrorKind::kRuntime, "the clock gave no usable result");
    result.value = figure.value;
    result.note = std::move(figure.note);
  } catch (const std::exception& error) {
    result.why_not = error.what();
    if (result.why_not.empty()) result.why_not = "unknown error";
  }
  return result;
}

std::span<const LatencyPoint> Session::latency_curve() const noexcept { return state_->known_curve(); }

}  // namespace headrace::hardware
