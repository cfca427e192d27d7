// A place with memory and queues of work. MXNet users also say "context".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

enum class DeviceType : uint8_t { kCpu = 1, kGpu = 2, kCpuPinned = 3, kCpuShared = 5 };  // MXNet's numbers

struct Device {
  DeviceType type = DeviceType::kCpu;
  int32_t id = 0;
  bool is_host() const noexcept { return type != DeviceType::kGpu; }
  friend bool operator==(const Device&, const Device&) = default;
};

std::string to_string(const Device& device);  // "cpu(0)"
Device parse_device(std::string_view text);   // the reverse; "gpu" is "gpu(0)"; raises ValueError for other texts

}  // namespace headrace
