#include "headrace/device.hpp"

#include <fmt/format.h>

namespace headrace {

std::string to_string(const Device& device) {
  const char* name = "gpu";
  switch (device.type) {
    case DeviceType::kCpu: name = "cpu"; break;
    case DeviceType::kGpu: name = "gpu"; break;
    case DeviceType::kCpuPinned: name = "cpu_pinned"; break;
    case DeviceType::kCpuShared: name = "cpu_shared"; break;
  }
  return fmt::format("{}({})", name, device.id);
}

}  // namespace headrace
