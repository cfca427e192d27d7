// Sorting and selecting along one axis.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/reduce/rows.h"

namespace headrace {

// NaN counts as the largest value; positions of equal values ascend.
extern const KernelPartOf<void(KernelContext& context, const Tensor& input, const AxisSpace& space, bool ascending,
                               const Tensor& output)>
    sort_values;
// The first k of the order: their values and their positions, each unless null. 1 <= k <= space.length.
extern const KernelPartOf<void(KernelContext& context, const Tensor& input, const AxisSpace& space, int64_t k,
                               bool ascending, const Tensor* values, const Tensor* positions)>
    select_first;
// 1 where an element is among the first k, else 0.
extern const KernelPartOf<void(KernelContext& context, const Tensor& input, const AxisSpace& space, int64_t k,
                               bool ascending, const Tensor& mask)>
    mark_first;

}  // namespace headrace
