// Devices by name, and arrays on other devices. Any thread may call.
#pragma once

#include "headrace/ndarray.hpp"

namespace headrace {

constexpr Device cpu(int32_t id = 0) noexcept { return {DeviceType::kCpu, id}; }
constexpr Device gpu(int32_t id = 0) noexcept { return {DeviceType::kGpu, id}; }

// A copy in the memory of `device`; gradients flow back through it to the device of the array.
NDArray copyto(const NDArray& array, Device device);
// The array itself where it is on `device` already, else copyto(array, device).
NDArray as_in_context(const NDArray& array, Device device);

}  // namespace headrace
