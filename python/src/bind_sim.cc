// headrace._core.sim: simulated GPUs.

#include <nanobind/stl/string.h>

#include "bindings.h"
#include "device/accelerator.h"
#include "gil.h"
#include "headrace/sim.hpp"

namespace nb = nanobind;

namespace headrace::python {
namespace {

Device gpu(int id) { return {DeviceType::kGpu, id}; }

void bind_faults(nb::module_& m) {
  m.def(
      "fail_copy", [](int id, int after) { translated([&] { return sim::fail_copy(gpu(id), after), 0; }); },
      nb::arg("id"), nb::arg("after"));
  m.def(
      "stall", [](int id, double seconds) { translated([&] { return sim::stall(gpu(id), seconds), 0; }); },
      nb::arg("id"), nb::arg("seconds"));
  m.def(
      "lose", [](int id) { translated([&] { return sim::lose(gpu(id)), 0; }); }, nb::arg("id"));
  m.def(
      "set_memory", [](int id, int64_t bytes) { translated([&] { return sim::set_memory(gpu(id), bytes), 0; }); },
      nb::arg("id"), nb::arg("bytes"));
  m.def("repair", [] {
    const WithoutGil unlocked;  // queued work may need it
    sim::repair();
  });
}

}  // namespace

void bind_sim(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("sim", "Simulated GPUs.");
  m.attr("MOST_GPUS") = Accelerator::kMost;
  m.def(
      "configure",
      [](int gpus, const std::string& topology, bool is_virtual, int64_t memory) {
        translated([&] {
          const WithoutGil unlocked;
          sim::configure({gpus, topology, is_virtual ? sim::Clock::kVirtual : sim::Clock::kReal, memory});
          return 0;
        });
      },
      nb::arg("gpus"), nb::arg("topology"), nb::arg("is_virtual"), nb::arg("memory"));
  m.def("options", [] {
    return translated([] {
      const sim::Options options = sim::options();
      nb::dict d;
      d["gpus"] = options.gpus;
      d["topology"] = options.topology;
      d["clock"] = options.clock == sim::Clock::kVirtual ? "virtual" : "real";
      d["memory"] = options.memory_bytes;
      return d;
    });
  });
  m.def("now", [] { return translated([] { return sim::now(); }); });
  m.def(
      "advance", [](double seconds) { translated([&] { return sim::advance(seconds), 0; }); }, nb::arg("seconds"));
  m.def("report", [] { return translated([] { return sim::report(); }); });
  bind_faults(m);
}

}  // namespace headrace::python
