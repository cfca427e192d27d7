// Images as data sets hold them, and as networks take them.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// input: bytes (..., height, width, channels); output: a 255th of each as float32 (..., channels, height, width)
extern const KernelPartOf<void(KernelContext& context)> divide_bytes;

}  // namespace headrace
