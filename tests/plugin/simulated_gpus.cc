// The simulated GPUs as a library of backends: what a program needs that has them from nowhere else.
#include <array>

#include "backend/sim/sim_machine.h"
#include "device/plugin.h"

extern "C" [[gnu::visibility("default")]] const headrace::BackendLibrary* headrace_backends() {
  static const std::array entries = {headrace::BackendEntry{headrace::DeviceType::kGpu, &headrace::sim_machine()}};
  static const headrace::BackendLibrary library = {
      .backends = []() -> std::span<const headrace::BackendEntry> { return entries; }};
  return &library;
}
