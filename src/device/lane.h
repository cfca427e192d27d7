// The streams that every accelerator has at least, by what they are for.
#pragma once

#include <cstdint>

namespace headrace {

enum class Lane : uint8_t { kCompute, kHostToDevice, kDeviceToHost, kCommunication };

inline constexpr int kLanes = 4;

}  // namespace headrace
