// Layer normalisation along the last axis, row by row.
#pragma once

#include "op/op_def.h"

namespace headrace {

// inputs: data (rows, n), gamma (n,), beta (n,); outputs: result [, mean (rows,), deviation (rows,)]
void layer_norm_forward(KernelContext& context, double eps);
// inputs: gradient of the result, data, gamma; outputs: gradients of data, gamma and beta
void layer_norm_backward(KernelContext& context, double eps);

}  // namespace headrace
