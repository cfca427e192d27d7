// The engine and memory counters as Python sees them.

#include <algorithm>

#include "base/check.h"
#include "base/config.h"
#include "bindings.h"
#include "device/recurrence.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "gil.h"
#include "headrace/memory.hpp"
#include "headrace/random.hpp"
#include "op/detours.h"
#include "timeline/timeline.h"

namespace nb = nanobind;

namespace headrace::python {

void handle_signals() {
  const WithGil locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void bind_engine(nb::module_& m) {
  m.def(
      "wait_all",
      [] {
        translated([] {
          timeline::Span span({"waitall", timeline::kCall});
          while (true) {
            bool done = false;
            std::exception_ptr failure;
            {
              const WithoutGil unlocked;
              try {
                done = runtime().engine.wait_all_for(Interruptible::kBetweenChecks);
              } catch (...) {
                failure = std::current_exception();
              }
            }
            if (failure) std::rethrow_exception(failure);
            if (done) return 0;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
          }
        });
      },
      "Waits for all operations; raises the first error that no wait has raised yet.");
  m.def(
      "raise_kept",
      [] {
        translated([] {
          runtime().engine.raise_kept();
          return 0;
        });
      },
      "Raises the first error that kept a parameter from being updated and that no wait has raised yet.");
  m.def(
      "shutdown",
      [] {
        const WithoutGil unlocked;
        try {
          runtime().shutdown();
        } catch (const Error&) {
          // Settings that nothing can run with: nothing is queued then, and what needed the runtime has told them.
        }
      },
      "Runs everything queued and ends the worker threads; later work starts them again.");
  m.def(
      "worker_count", [] { return translated([] { return runtime().engine.worker_count(); }); },
      "How many threads compute on the host.");
  m.def("is_serial", [] { return translated([] { return runtime().engine.serial(); }); });
  m.def("pending_tasks", [] { return translated([] { return runtime().engine.pending(); }); });
}

void bind_detours(nb::module_& m) {
  m.def(
      "detours",
      [] {
        nb::dict counts;
        for (const auto& [detour, count] : detours()) counts[detour.c_str()] = count;
        return counts;
      },
      "How often operations were computed in another way than their arrays ask for, by 'operator: how'.");
  m.def(
      "operators_on_host",
      [] {
        nb::list names;
        for (const std::string& name : translated([] { return operators_on_host(DeviceType::kGpu); }))
          names.append(name.c_str());
        return names;
      },
      "Names of the operators that GPUs leave to the host.");
  m.def(
      "cuda_graphs",
      [] {
        const RecurrenceCounts& counts = recurrence_counts();
        nb::dict result;
        result["captured"] = counts.captured.load(std::memory_order_relaxed);
        result["replayed"] = counts.replayed.load(std::memory_order_relaxed);
        return result;
      },
      "How many launch sequences GPUs have captured, and how often they have replayed one.");
}

namespace {

void bind_gpus(nb::module_& m) {
  m.def(
      "memory_info",
      [](int id) {
        return translated([&] {
          const int64_t total = accelerator_of({DeviceType::kGpu, id})->memory_bytes();
          return nb::make_tuple(std::max<int64_t>(0, backend_of(DeviceType::kGpu)->free_bytes(id)), total);
        });
      },
      "Bytes of a GPU: free, total.");
  m.def(
      "gpu_properties",
      [](int id) {
        return translated([&] {
          const Accelerator& gpu = *accelerator_of({DeviceType::kGpu, id});
          const DeviceProperties known = gpu.properties();
          return nb::make_tuple(python_text(known.name), known.compute_capability, known.processors,
                                gpu.memory_bytes());
        });
      },
      "Of a GPU: name, compute capability times ten, processors, bytes of memory; 0: not known.");
  m.def(
      "device_features",
      [] {
        return translated([] {
          nb::list names;
          for (const std::string& name : backend_of(DeviceType::kGpu)->features()) names.append(python_text(name));
          return names;
        });
      },
      "Names of MXNet's features that the GPUs bring.");
}

}  // namespace

void bind_memory(nb::module_& m) {
  bind_gpus(m);
  m.def("device_count",
        [](int type) { return translated([&] { return device_count(static_cast<DeviceType>(type)); }); });
  m.def(
      "memory_stats",
      [](int type, int id) {
        return translated([&] {
          MemoryStats stats = allocator_of({static_cast<DeviceType>(type), id}).stats();
          nb::dict d;
          d["live"] = stats.live;
          d["peak"] = stats.peak;
          d["pooled"] = stats.pooled;
          return d;
        });
      },
      nb::arg("type") = 1, nb::arg("id") = 0, "Bytes of a device's memory: in use, most ever in use, kept for reuse.");
  m.def(
      "memory_report",
      [] {
        return translated([] {
          nb::list rows;
          for (const DeviceMemory& row : memory_report())
            rows.append(
                nb::make_tuple(static_cast<int>(row.device.type), row.device.id, row.live, row.peak, row.pooled));
          return rows;
        });
      },
      "For each device with memory of its own: type, id, and the bytes of memory_stats.");
  m.def(
      "trim_memory",
      [](int type, int id) {
        translated([&] {
          allocator_of({static_cast<DeviceType>(type), id}).trim();
          return 0;
        });
      },
      nb::arg("type") = 1, nb::arg("id") = 0, "Gives pooled memory back to the system.");
  m.def(
      "config_variables",
      [] {
        nb::list rows;
        for (const ConfigVariable& v : config_variables())
          rows.append(nb::make_tuple(v.name, v.default_text, v.meaning));
        return rows;
      },
      "Environment variables: name, default, meaning.");
}

void bind_random(nb::module_& m) {
  m.def("seed", [](int64_t value) {
    translated([&] {
      random::seed(value);
      return 0;
    });
  });
  m.def("set_generator", [](const char* name) {
    translated([&] {
      random::set_generator(name);
      return 0;
    });
  });
  m.def("generator", [] { return random::generator() == random::Generator::kPhilox ? "philox" : "mt19937"; });
}

}  // namespace headrace::python
