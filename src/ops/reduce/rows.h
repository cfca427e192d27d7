// Working along one axis of packed arrays, row by row.
#pragma once

#include <span>

#include "base/function_ref.h"
#include "op/formula/opcode.h"
#include "op/kernel.h"
#include "op/op_def.h"

namespace headrace {

// A packed array seen as outer x length x inner, the middle one being the axis of an operation.
struct AxisSpace {
  int64_t outer, length, inner;
  static AxisSpace along(const Shape& shape, int64_t axis) noexcept {
    AxisSpace space{1, shape[static_cast<size_t>(axis)], 1};
    for (size_t d = 0; d < shape.size(); ++d) {
      if (static_cast<int64_t>(d) < axis) space.outer *= shape[d];
      if (static_cast<int64_t>(d) > axis) space.inner *= shape[d];
    }
    return space;
  }
};

// The rows of one call: where each input and output has its `length` elements, side by side, in the compute type.
struct RowCall {
  int64_t row;  // outer * space.inner + inner
  std::span<const void* const> inputs;
  std::span<void* const> outputs;

  template <class T>
  const T* in(size_t i) const noexcept {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out(size_t i = 0) const noexcept {
    return static_cast<T*>(outputs[i]);
  }
};

// One array of a call, with the type in which f sees it and its own extent along the axis.
struct RowArray {
  const Tensor& tensor;
  ComputeType type;
  int64_t length;
};

// Calls f once for every row along the middle dimension of packed arrays (outer, length, inner), on as many threads as
// `cost_ns` justifies. Rows are converted and made contiguous where they are not. Rows of one call do not overlap, so f
// may read its inputs after writing its outputs. `work` is the number of elements behind one row.
void for_each_row(int64_t outer, int64_t inner, std::span<const RowArray> inputs, std::span<const RowArray> outputs,
                  int64_t work, double cost_ns, FunctionRef<void(const RowCall&)> f);
// The same for arrays of one shape, all in one type.
void for_each_row(const AxisSpace& space, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                  ComputeType type, double cost_ns, FunctionRef<void(const RowCall&)> f);

}  // namespace headrace
