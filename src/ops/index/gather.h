// Places selected by several broadcast integer arrays at once, in NumPy's order: what advanced indexing, gather_nd and
// scatter_nd have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "op/kernel.h"
#include "op/kernel_part.h"
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

// Whether axes in ascending order follow each other.
bool are_neighbours(const Shape& axes) noexcept;

// Places of a packed array of this shape that index arrays name along `axes`, or whose coordinates along the first axes
// are the rows of one array.
struct SelectedPlaces {
  const Shape& shape;
  std::optional<Shape> axes;  // none: coordinates
  std::span<const Tensor> indices;
};

// The axes of places, and the index array of each. Lives no longer than what it is made of.
class NamedIndices {
 public:
  explicit NamedIndices(const SelectedPlaces& places);
  NamedIndices(const NamedIndices&) = delete;
  NamedIndices& operator=(const NamedIndices&) = delete;

  const Shape& axes() const noexcept { return axes_; }
  std::span<const Tensor> indices() const noexcept { return indices_; }

 private:
  Shape axes_, row_shape_;
  Strides row_strides_;
  std::vector<Tensor> indices_;
};

// The parts of kernels that index so. `from` and `to` are packed and of one dtype; of the two one is the array, the
// other one holds the values. Indices out of bounds raise IndexError.
using SelectionPart =
    KernelPartOf<void(KernelContext& context, const SelectedPlaces& places, const Tensor& from, const Tensor& to)>;
// to = from[places]
extern const SelectionPart gather_selected;
// to[places] = from; where places coincide the last one stays.
extern const SelectionPart scatter_selected;
// to[places] += from, in the order of the indices whatever the number of threads; halves in float32.
extern const SelectionPart add_to_selected;

}  // namespace headrace
