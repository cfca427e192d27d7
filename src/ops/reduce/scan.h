// Running sums.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/reduce/rows.h"

namespace headrace {

// output[o, i, j] = sum of input[o, k, j] for k <= i, or for k >= i when `reverse`; equal dtypes. Floats are summed in
// double, integers wrap. The bits do not depend on the number of threads.
extern const KernelPartOf<void(KernelContext& context, const Tensor& input, const AxisSpace& space, bool reverse,
                               const Tensor& output)>
    cumulative_sum;

}  // namespace headrace
