// The streams that every accelerator has at least. A device may run one operation of each at the same time.
#pragma once

#include <cstdint>

namespace headrace {

enum class Lane : uint8_t {
  kCompute,
  kHostToDevice,
  kDeviceToHost,
  kCommunication,  // with other accelerators
};
inline constexpr int kLaneCount = 4;

constexpr const char* lane_name(Lane lane) noexcept {
  switch (lane) {
    case Lane::kCompute:
      return "compute";
    case Lane::kHostToDevice:
      return "host to device";
    case Lane::kDeviceToHost:
      return "device to host";
    case Lane::kCommunication:
      break;
  }
  return "communication";
}

}  // namespace headrace
