// Devices by name, and arrays on other devices. Any thread may call.
#pragma once

#include "headrace/ndarray.hpp"

namespace headrace {

constexpr Device cpu(int32_t id = 0) noexcept { return {DeviceType::kCpu, id}; }
constexpr Device gpu(int32_t id = 0) noexcept { return {DeviceType::kGpu, id}; }

// A copy in the memory of `device`; gradients flow back through it to the device of the array.
NDArray copyto(const NDArray& array, Device device);
// Writes the values into the memory of `target`, in its dtype, on whatever device it is; no gradient flows through it.
// ValueError: the shapes differ. TypeError: one of them is none.
void copyto(const NDArray& array, const NDArray& target);
// The array itself where it is on `device` already, else copyto(array, device).
NDArray as_in_context(const NDArray& array, Device device);

}  // namespace headrace
