// Places selected by several broadcast integer arrays at once, in NumPy's order: what advanced indexing, gather_nd and
// scatter_nd have in common.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "op/kernel.h"
#include "op/op_def.h"

namespace headrace {

// The result of indexing `shape` along `axes` with arrays that broadcast to `index_shape`: their dimensions stand where
// the axes were when these are neighbours, and first otherwise.
Shape advanced_index_shape(const Shape& shape, const Shape& axes, const Shape& index_shape);

// Where the selected elements of a packed array lie. The selection is a set of runs of `inner` neighbouring elements;
// run (o, p) starts at outer[o] + index[p].
struct Selection {
  std::vector<int64_t> outer, index;
  int64_t inner = 1;
  bool index_first = false;  // result order: (index, outer, inner), else (outer, index, inner)

  // Reads the indices, brings negative ones into range and raises IndexError for what is out of bounds.
  Selection(const char* operation, const Shape& shape, const Shape& axes, std::span<const Tensor> indices);
  // The same with the rows of one array (axes, ...) of coordinates for the first axes.
  static Selection at_coordinates(const char* operation, const Shape& shape, const Tensor& coordinates);

  int64_t outer_count() const noexcept { return static_cast<int64_t>(outer.size()); }
  int64_t index_count() const noexcept { return static_cast<int64_t>(index.size()); }
  int64_t place(int64_t o, int64_t p) const noexcept {
    return outer[static_cast<size_t>(o)] + index[static_cast<size_t>(p)];
  }
  int64_t position(int64_t o, int64_t p) const noexcept {
    return (index_first ? p * outer_count() + o : o * index_count() + p) * inner;
  }
};

inline int64_t item_bytes(const Tensor& tensor) { return static_cast<int64_t>(item_size(tensor.dtype)); }

// result = data[selection]
void gather(const Selection& selection, const void* data, void* result, int64_t item_size);
// data[selection] = values; where places coincide the last one stays.
void scatter(const Selection& selection, const void* values, void* data, int64_t item_size);
// data[selection] += values, in the order of the indices whatever the number of threads; halves in float32.
void scatter_add(const Selection& selection, const Tensor& values, const Tensor& data);

}  // namespace headrace
