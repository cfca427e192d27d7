// Searching for the position of an extreme element along one axis.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/reduce/rows.h"

namespace headrace {

// The first position of the largest (or smallest) element along the middle dimension, the first NaN before all. The
// output is float32 or int64.
extern const KernelPartOf<void(KernelContext& context, const Tensor& input, const AxisSpace& space, bool largest,
                               const Tensor& output)>
    arg_reduce;

}  // namespace headrace
