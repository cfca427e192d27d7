// Borders around arrays.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

enum class Border : uint8_t { kConstant, kEdge, kReflect, kSymmetric, kWrap };

// Parts of kernels; tensors are packed. `width`: elements before and after each axis.
// to is `from` with a border, of `value` where it is constant.
extern const KernelPartOf<void(KernelContext& context, const Tensor& from, const Shape& width, Border border,
                               double value, const Tensor& to)>
    pad_elements;
// Each element of `to`, of floats, is the sum of its copies in `from`, which has a border that is not constant.
extern const KernelPartOf<void(KernelContext& context, const Tensor& from, const Shape& width, Border border,
                               const Tensor& to)>
    collect_copies;

}  // namespace headrace
