// Axis arguments of reductions: which dimensions go, and what shape remains.
#pragma once

#include <cstdint>
#include <optional>

#include "op/op_def.h"

namespace headrace {

// A set of dimensions: bit d stands for dimension d.
using AxisSet = uint64_t;

// The dimensions that `axis` names, negative ones counted from the end. Raises ValueError naming the operation when an
// axis is out of range or named twice.
AxisSet axis_set(const char* operation, const Shape& axis, size_t ndim);
inline AxisSet all_axes(size_t ndim) noexcept { return ndim ? ~AxisSet{0} >> (64 - ndim) : 0; }

// nd: none and () mean all; `exclude` turns the choice round.
AxisSet legacy_axes(const char* operation, const std::optional<Shape>& axis, bool exclude, size_t ndim);
// np: none means all, () means none.
AxisSet numpy_axes(const char* operation, const std::optional<Shape>& axis, size_t ndim);

Shape without_axes(const Shape& shape, AxisSet axes, bool keepdims);
// nd has no zero-dimensional arrays: () becomes (1,).
Shape legacy_shape(Shape shape);
// The number of elements that go into one result.
int64_t reduced_count(const Shape& shape, AxisSet axes) noexcept;

// `reduced`, whose dimensions in `axes` are gone or 1, seen in the full shape: no memory is copied.
NDArray spread(const NDArray& reduced, const Shape& shape, AxisSet axes);

// Integers and bools in float32; floats as they are.
NDArray as_floats(const NDArray& array);

}  // namespace headrace
