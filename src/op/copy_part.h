// Copies of elements as a part of kernels.
#pragma once

#include "headrace/dtype.hpp"
#include "headrace/shape.hpp"
#include "op/kernel_part.h"

namespace headrace {

// What strided_copy does (ndarray/strided_copy.h): elements of `shape` go from one place to another, each place with
// its strides.
extern const KernelPartOf<void(KernelContext& context, void* to, const Strides& to_strides, const void* from,
                               const Strides& from_strides, const Shape& shape, DType dtype)>
    copy_elements;

}  // namespace headrace
