#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/check.h"
#include "kvstore/simulator.h"

namespace headrace::kvstore {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPicosecondsPerMicrosecond = 1e6;

struct Bar {
  Interval when;
  int step;
};

// Bars by resource, in order of time.
std::vector<std::vector<Bar>> bars_of(const CommunicationPlan& plan, const Simulation& simulation) {
  std::vector<std::vector<Bar>> bars(plan.topology().resources().size());
  for (size_t i = 0; i < plan.steps().size(); ++i) {
    const Step& step = plan.steps()[i];
    const Bar bar{simulation.steps[i], static_cast<int>(i)};
    if (step.kind == StepKind::kCopy) {
      for (int resource : plan.routes()[step.route].resources) bars[resource].push_back(bar);
    } else if (const int resource = plan.topology().reduce_resource(step.target.device); resource >= 0) {
      bars[resource].push_back(bar);
    }
  }
  for (std::vector<Bar>& lane : bars)
    std::stable_sort(lane.begin(), lane.end(),
                     [](const Bar& a, const Bar& b) { return a.when.begin_ps < b.when.begin_ps; });
  return bars;
}

Json bar_json(const CommunicationPlan& plan, const Bar& bar, int lane) {
  const Step& step = plan.steps()[bar.step];
  const Topology& topology = plan.topology();
  const bool copies = step.kind == StepKind::kCopy;
  return {{"name", copies ? fmt::format("{} to {}", topology.device_name(step.source.device),
                                        topology.device_name(step.target.device))
                          : fmt::format("reduce on {}", topology.device_name(step.target.device))},
          {"cat", copies ? "copy" : "reduce"},
          {"ph", "X"},
          {"pid", 0},
          {"tid", lane},
          {"ts", static_cast<double>(bar.when.begin_ps) / kPicosecondsPerMicrosecond},
          {"dur", static_cast<double>(bar.when.end_ps - bar.when.begin_ps) / kPicosecondsPerMicrosecond},
          {"args", {{"step", bar.step}, {"slice", step.slice}, {"begin", step.range.begin}, {"end", step.range.end}}}};
}

}  // namespace

void write_chrome_trace(const CommunicationPlan& plan, const Simulation& simulation, std::ostream& out) {
  const std::vector<std::vector<Bar>> bars = bars_of(plan, simulation);
  const char* separator = "\n";
  const auto line = [&](const Json& json) {
    out << separator << json.dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  };
  out << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  line({{"name", "process_name"}, {"ph", "M"}, {"pid", 0}, {"args", {{"name", plan.topology().name()}}}});
  int lanes = 0;
  for (size_t resource = 0; resource < bars.size(); ++resource) {
    std::vector<int64_t> busy_until;  // by lane of this resource
    const int first = lanes;
    for (const Bar& bar : bars[resource]) {
      size_t lane = 0;
      while (lane < busy_until.size() && busy_until[lane] > bar.when.begin_ps) ++lane;
      if (lane == busy_until.size()) {
        busy_until.push_back(0);
        const std::string& name = plan.topology().resources()[resource].name;
        line({{"name", "thread_name"},
              {"ph", "M"},
              {"pid", 0},
              {"tid", lanes++},
              {"args", {{"name", lane == 0 ? name : fmt::format("{} ({})", name, lane + 1)}}}});
      }
      busy_until[lane] = bar.when.end_ps;
      line(bar_json(plan, bar, first + static_cast<int>(lane)));
    }
  }
  out << "\n]}\n";
}

}  // namespace headrace::kvstore
