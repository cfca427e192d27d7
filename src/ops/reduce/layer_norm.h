// Layer normalisation, row by row.
#pragma once

#include "op/kernel.h"
#include "ops/reduce/rows.h"

namespace headrace {

// inputs: data, gamma, beta; outputs: result [, mean, deviation]
void layer_norm_forward(KernelContext& context, const AxisSpace& space, double eps);
// Along the last axis. inputs: gradient of the result, data, gamma; outputs: gradients of data [, gamma and beta]
void layer_norm_backward(KernelContext& context, double eps);

}  // namespace headrace
