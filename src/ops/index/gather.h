// Places selected by several broadcast integer arrays at once, in NumPy's order: what advanced indexing, gather_nd and
// scatter_nd have in common.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

bool are_neighbours(const Shape& axes);

// The result of indexing `shape` along `axes` with arrays that broadcast to `index_shape`: their dimensions stand where
// the axes were when these are neighbours, and first otherwise.
Shape advanced_index_shape(const Shape& shape, const Shape& axes, const Shape& index_shape);

Shape broadcast_index_shape(const char* operation, std::span<const Tensor> indices);

// What is selected of a packed array: by index arrays, which broadcast, along axes.
struct Selected {
  const Shape& shape;  // of the whole array
  const Shape& axes;   // ascending, one for each index array
  std::span<const Tensor> indices;
};

// The rows of one array (axes, ...) as coordinates along the first axes.
class CoordinateRows {
 public:
  explicit CoordinateRows(const Tensor& coordinates);
  CoordinateRows(const CoordinateRows&) = delete;
  // Refers to both.
  Selected of(const Shape& shape) const { return {shape, axes_, rows_}; }

 private:
  Shape each_, axes_;
  Strides strides_;
  std::vector<Tensor> rows_;
};

// These bring negative indices into range; one that is out of bounds raises IndexError. `values` are packed.
// result = data[selected]
extern const KernelPartOf<void(KernelContext& context, const Selected& selected, const Tensor& data,
                               const Tensor& result)>
    gather;
// data[selected] = values; where places coincide the last one stays.
extern const KernelPartOf<void(KernelContext& context, const Selected& selected, const void* values,
                               const Tensor& data)>
    scatter;
// data[selected] += values, in the order of the indices whatever the number of threads; halves in float32.
extern const KernelPartOf<void(KernelContext& context, const Selected& selected, const Tensor& values,
                               const Tensor& data)>
    scatter_add;

}  // namespace headrace
