// Kernels that work in either memory order of images: row-major, or channels-last. Results lie as their data do.
#pragma once

#include "op/kernel.h"
#include "op/op_def.h"

namespace headrace {

// Strides for a result of this shape: channels-last where the data lie so and `axis`, that of the channels, is the one
// that does; else row-major.
Strides strides_like(const Shape& shape, const Strides& data, int64_t axis);
// Whether the elements lie channels-last and not row-major too.
bool lies_channels_last(const Tensor& tensor);
// The elements of `tensor` in the order that `strides`, which are dense, give: its memory, or a copy,
// made by copy_elements.
const void* in_order_of(KernelContext& context, const Tensor& tensor, const Strides& strides);

}  // namespace headrace
