// The GPUs that tests run on.
#pragma once

#include "headrace/device.hpp"

namespace headrace {

inline constexpr Device kGpu0{DeviceType::kGpu, 0}, kGpu1{DeviceType::kGpu, 1};

}  // namespace headrace
