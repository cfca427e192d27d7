// A place with memory and queues of work. MXNet users also say "context".
#pragma once

#include <cstdint>
#include <string>

namespace headrace {

enum class DeviceType : uint8_t { kCpu = 1, kGpu = 2, kCpuPinned = 3, kCpuShared = 5 };  // MXNet's numbers

struct Device {
  DeviceType type = DeviceType::kCpu;
  int32_t id = 0;
  bool is_host() const noexcept { return type != DeviceType::kGpu; }
  friend bool operator==(const Device&, const Device&) = default;
};

std::string to_string(const Device& device);  // "cpu(0)"

}  // namespace headrace
