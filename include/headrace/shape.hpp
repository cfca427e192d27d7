// Shapes and strides: extents in elements, outermost first. An empty shape is a scalar (one element).
#pragma once

#include <cstdint>
#include <string>

#include "headrace/small_vector.hpp"

namespace headrace {

using Shape = SmallVector<int64_t, 6>;
using Strides = SmallVector<int64_t, 6>;  // in elements; may be 0 (broadcast) or negative (reversed)

// Of an array: as many as have addresses, whatever their dtype, so that no count of bytes overflows.
inline constexpr int64_t kMostElements = int64_t{1} << 59;

// Number of elements. Raises MemoryError when the extents that are not 0 make more than kMostElements.
int64_t element_count(const Shape& shape);
// The product of two extents for a rule that makes one of them. Raises MemoryError naming `operation`, likewise.
int64_t multiply_extents(int64_t a, int64_t b, const char* operation);
// Row-major strides of a freshly made array.
Strides contiguous_strides(const Shape& shape);
bool is_contiguous(const Shape& shape, const Strides& strides);
// Strides that put axis 1 innermost: how images of shape (n, channels, ...) lie as n, ..., channels.
Strides channels_last_strides(const Shape& shape);
bool is_channels_last(const Shape& shape, const Strides& strides);
// Whether the elements fill a stretch of memory without gaps or repetition, in whatever order of the axes.
bool is_dense(const Shape& shape, const Strides& strides);
// "(2, 3)", "(4,)", "()": as Python prints a tuple. The text is made when somebody reads it, so error checks may name
// shapes at no cost; the shape must live as long as the ShapeText.
struct ShapeText {
  const Shape& shape;
  operator std::string() const;
};
inline ShapeText to_string(const Shape& shape) noexcept { return {shape}; }
// NumPy's broadcasting of two shapes; raises ValueError naming `operation` when they do not fit.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* operation);
// Axis in [0, ndim); negative counts from the end. Raises ValueError naming `operation`.
int64_t normalize_axis(int64_t axis, int64_t ndim, const char* operation);

}  // namespace headrace
