// Layer normalisation, row by row.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/reduce/rows.h"

namespace headrace {

// inputs: data, gamma, beta; outputs: result [, mean, deviation]
extern const KernelPartOf<void(KernelContext& context, const AxisSpace& space, double eps)> layer_norm_forward;
// Along the last axis. inputs: gradient of the result, data, gamma; outputs: gradients of data [, gamma and beta]
extern const KernelPartOf<void(KernelContext& context, double eps)> layer_norm_backward;

}  // namespace headrace
