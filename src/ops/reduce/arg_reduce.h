// Searching for the position of an extreme element along one axis.
#pragma once

#include "op/kernel.h"
#include "ops/reduce/rows.h"

namespace headrace {

// The first position of the largest (or smallest) element along the middle dimension, the first NaN before all. The
// output is float32 or int64.
void arg_reduce(const Tensor& input, const AxisSpace& space, bool largest, const Tensor& output);

}  // namespace headrace
