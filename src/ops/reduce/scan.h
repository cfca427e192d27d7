// Running sums.
#pragma once

#include "op/kernel.h"
#include "ops/reduce/rows.h"

namespace headrace {

// output[o, i, j] = sum of input[o, k, j] for k <= i, or for k >= i when `reverse`; equal dtypes. Floats are summed in
// double, integers wrap. The bits do not depend on the number of threads.
void cumulative_sum(const Tensor& input, const AxisSpace& space, bool reverse, const Tensor& output);

}  // namespace headrace
