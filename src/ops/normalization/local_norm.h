// Sums over neighbouring channels.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// Each element of output 0 is the sum of those of input 0 at its place in its channel (axis 1) and `beside` channels
// before and after.
extern const KernelPartOf<void(KernelContext& context, int64_t beside)> sum_channel_windows;

}  // namespace headrace
