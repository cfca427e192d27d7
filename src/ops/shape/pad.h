// Arrays with borders.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/shape/border.h"

namespace headrace {

// Output 0 is input 0 with `width` elements before and after each axis, two numbers for one.
extern const KernelPartOf<void(KernelContext& context, const Shape& width, Border border, double constant)>
    pad_elements;
// Its transpose, of floats, where borders are no constants: output 0 collects what became of its elements, in order.
extern const KernelPartOf<void(KernelContext& context, const Shape& width, Border border)> add_padded;

}  // namespace headrace
