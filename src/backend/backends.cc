// The explicit list of backends in this build.
#include <array>

#include "backend/cpu/host_backend.h"
#include "backend/sim/sim_machine.h"
#include "device/registry.h"

namespace headrace {

std::span<const BackendEntry> builtin_backends() {
  static const std::array entries = {
      BackendEntry{DeviceType::kCpu, &host_backend()},
      BackendEntry{DeviceType::kCpuPinned, &host_backend()},
      BackendEntry{DeviceType::kCpuShared, &host_backend()},
      BackendEntry{DeviceType::kGpu, &sim_machine()},
  };
  return entries;
}

}  // namespace headrace
