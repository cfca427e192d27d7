#include "ops/normalization/memory_order.h"

#include "op/copy_part.h"
#include "op/kernel.h"

namespace headrace {

Strides strides_like(const Shape& shape, const Strides& data, int64_t axis) {
  const bool last = axis == 1 && is_channels_last(shape, data) && !is_contiguous(shape, data);
  return last ? channels_last_strides(shape) : contiguous_strides(shape);
}

bool lies_channels_last(const Tensor& tensor) {
  return is_channels_last(tensor.shape, tensor.strides) && !is_contiguous(tensor.shape, tensor.strides);
}

const void* in_order_of(KernelContext& context, const Tensor& tensor, const Strides& strides) {
  bool same = true;
  for (size_t i = 0; i < strides.size(); ++i) same &= tensor.shape[i] == 1 || tensor.strides[i] == strides[i];
  if (same) return tensor.data;
  void* copy = context.workspace(static_cast<size_t>(tensor.size) * item_size(tensor.dtype));
  copy_elements(context, copy, strides, tensor.data, tensor.strides, tensor.shape, tensor.dtype);
  return copy;
}

}  // namespace headrace
