// Sorting and selecting along one axis.
#pragma once

#include "op/kernel.h"
#include "ops/reduce/rows.h"

namespace headrace {

// NaN counts as the largest value; positions of equal values ascend.
void sort_values(const Tensor& input, const AxisSpace& space, bool ascending, const Tensor& output);
// The first k of the order: their values and their positions, each unless null. 1 <= k <= space.length.
void select_first(const Tensor& input, const AxisSpace& space, int64_t k, bool ascending, const Tensor* values,
                  const Tensor* positions);
// 1 where an element is among the first k, else 0.
void mark_first(const Tensor& input, const AxisSpace& space, int64_t k, bool ascending, const Tensor& mask);

}  // namespace headrace
