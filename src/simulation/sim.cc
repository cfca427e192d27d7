// The public face of simulated GPUs.
#include "headrace/sim.hpp"

#include <cmath>

#include "backend/sim/sim_machine.h"
#include "base/check.h"
#include "engine/runtime.h"

namespace headrace::sim {
namespace {

SimDevice& device_at(Device gpu, const char* function) {
  SimDevice* const device = gpu.type == DeviceType::kGpu ? sim_machine().device(gpu.id) : nullptr;
  check(device != nullptr, ErrorKind::kValue, "sim.{}: {} is no simulated GPU; there are {}", function, to_string(gpu),
        sim_machine().device_count());
  return *device;
}

VirtualMachine& virtual_machine(const char* function) {
  VirtualMachine* const machine = sim_machine().virtual_machine();
  check(
      machine != nullptr, ErrorKind::kRuntime,
      "sim.{}: the clock is the real one; configure simulated GPUs with the virtual clock (HEADRACE_SIM_CLOCK=virtual)",
      function);
  return *machine;
}

}  // namespace

void configure(const Options& options) {
  Engine& engine = runtime().engine;
  engine.drain();
  sim_machine().configure(options);
  engine.observe(sim_machine().observer());
}

Options options() { return sim_machine().options(); }

double now() { return static_cast<double>(virtual_machine("now").now_ps()) * 1e-12; }

void advance(double seconds) {
  check(std::isfinite(seconds) && seconds >= 0 && seconds < 1e6, ErrorKind::kValue,
        "sim.advance: expected seconds from 0 to 1e6, got {}", seconds);
  virtual_machine("advance").advance(std::llround(seconds * 1e12));
}

std::string report() { return virtual_machine("report").report().text(); }

void fail_copy(Device gpu, int after) {
  check(after >= 0, ErrorKind::kValue, "sim.fail_copy: after must not be negative, got {}", after);
  device_at(gpu, "fail_copy").fail_copy(after);
}

void stall(Device gpu, double seconds) {
  check(std::isfinite(seconds) && seconds >= 0 && seconds < 3600, ErrorKind::kValue,
        "sim.stall: expected seconds from 0 to 3600, got {}", seconds);
  device_at(gpu, "stall").stall(std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
}

void lose(Device gpu) { device_at(gpu, "lose").lose(); }

void set_memory(Device gpu, int64_t bytes) {
  check(bytes >= 0, ErrorKind::kValue, "sim.set_memory: bytes must not be negative, got {}", bytes);
  device_at(gpu, "set_memory").allocator().set_capacity(bytes);
}

void repair() {
  runtime().engine.drain();
  sim_machine().repair();
}

}  // namespace headrace::sim
