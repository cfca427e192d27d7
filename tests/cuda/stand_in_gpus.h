// The GPUs that tests of the plug-in run on: those of the stand-in for the driver (tests/cuda/stand_in), which the
// build names, unless the environment names another driver.
#pragma once

#include "headrace/device.hpp"

namespace headrace {

inline constexpr Device kGpu0{DeviceType::kGpu, 0}, kGpu1{DeviceType::kGpu, 1};

}  // namespace headrace
