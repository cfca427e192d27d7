// The public face of simulated GPUs.
#include "headrace/sim.hpp"

#include <cmath>

#include "backend/sim/sim_machine.h"
#include "base/check.h"
#include "device/registry.h"
#include "engine/runtime.h"

namespace headrace::sim {
namespace {

void check_simulated(const char* function) {
  check(backend_of(DeviceType::kGpu) == &sim_machine(), ErrorKind::kRuntime,
        "sim.{}: the GPUs of this process are not simulated: NVIDIA's driver or a library of HEADRACE_BACKENDS has "
        "them; set HEADRACE_SIM_GPUS, or HEADRACE_CUDA=0, before the program starts",
        function);
}

SimDevice& device_at(Device gpu, const char* function) {
  check_simulated(function);
  SimDevice* const device = gpu.type == DeviceType::kGpu ? sim_machine().device(gpu.id) : nullptr;
  check(device != nullptr, ErrorKind::kValue, "sim.{}: {} is no simulated GPU; there are {}", function, to_string(gpu),
        sim_machine().device_count());
  return *device;
}

int64_t to_ps(double seconds, double most, const char* function) {
  check(seconds >= 0 && seconds <= most, ErrorKind::kValue, "sim.{}: expected seconds from 0 to {:g}, got {}", function,
        most, seconds);
  return std::llround(seconds * 1e12);
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
  check_simulated("configure");
  Engine& engine = runtime().engine;
  engine.drain();
  sim_machine().configure(options);
  engine.observe(sim_machine().observer());
}

Options options() { return sim_machine().options(); }

double now() { return static_cast<double>(virtual_machine("now").now_ps()) * 1e-12; }

void advance(double seconds) { virtual_machine("advance").advance(to_ps(seconds, 1e6, "advance")); }

std::string report() { return virtual_machine("report").report().text(); }

void fail_copy(Device gpu, int after) {
  check(after >= 0, ErrorKind::kValue, "sim.fail_copy: after must not be negative, got {}", after);
  device_at(gpu, "fail_copy").fail_copy(after);
}

void stall(Device gpu, double seconds) {
  const int64_t ps = to_ps(seconds, 3600, "stall");
  SimDevice& device = device_at(gpu, "stall");
  if (VirtualMachine* const clock = sim_machine().virtual_machine())
    clock->stall(gpu.id, ps);
  else
    device.stall(std::chrono::nanoseconds(ps / 1000));
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
