// Sums over neighbouring channels.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// Of floats: output[n, c, ...] is the sum of input[n, k, ...] for the channels k that are no more than (nsize - 1) / 2
// away from c, in their order.
extern const KernelPartOf<void(KernelContext& context, int64_t nsize)> channel_window_sums;

}  // namespace headrace
