// The streams that every accelerator has at least. A device may run one operation of each at the same time.
#pragma once

#include <cstdint>

namespace headrace {

enum class StreamRole : uint8_t {
  kCompute,
  kHostToDevice,
  kDeviceToHost,
  kCommunication,  // with other accelerators
};
inline constexpr int kStreamRoleCount = 4;

constexpr const char* role_name(StreamRole role) noexcept {
  switch (role) {
    case StreamRole::kCompute:
      return "compute";
    case StreamRole::kHostToDevice:
      return "host to device";
    case StreamRole::kDeviceToHost:
      return "device to host";
    case StreamRole::kCommunication:
      break;
  }
  return "communication";
}

}  // namespace headrace
