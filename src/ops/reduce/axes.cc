#include "ops/reduce/axes.h"

#include "base/check.h"
#include "op/invoke.h"

namespace headrace {

AxisSet axis_set(const char* operation, const Shape& axis, size_t ndim) {
  AxisSet axes = 0;
  for (int64_t a : axis) {
    if (ndim == 0 && (a == 0 || a == -1)) continue;  // of a number, as NumPy has it
    const AxisSet bit = AxisSet{1} << normalize_axis(a, static_cast<int64_t>(ndim), operation);
    check((axes & bit) == 0, ErrorKind::kValue, "{}: axis {} is named twice in {}; name each axis once", operation, a,
          to_string(axis));
    axes |= bit;
  }
  return axes;
}

AxisSet legacy_axes(const char* operation, const std::optional<Shape>& axis, bool exclude, size_t ndim) {
  if (!axis || axis->empty()) return all_axes(ndim);
  const AxisSet axes = axis_set(operation, *axis, ndim);
  return exclude ? all_axes(ndim) & ~axes : axes;
}

AxisSet numpy_axes(const char* operation, const std::optional<Shape>& axis, size_t ndim) {
  return axis ? axis_set(operation, *axis, ndim) : all_axes(ndim);
}

Shape without_axes(const Shape& shape, AxisSet axes, bool keepdims) {
  Shape result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!((axes >> d) & 1))
      result.push_back(shape[d]);
    else if (keepdims)
      result.push_back(1);
  }
  return result;
}

Shape legacy_shape(Shape shape) { return shape.empty() ? Shape{1} : shape; }

int64_t reduced_count(const Shape& shape, AxisSet axes) noexcept {
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    if ((axes >> d) & 1) count *= shape[d];
  return count;
}

NDArray spread(const NDArray& reduced, const Shape& shape, AxisSet axes) {
  const Shape kept = without_axes(shape, axes, true);
  NDArray aligned = reduced.shape() == kept ? reduced : call("_reshape_to", {reduced}, {{"shape", kept}});
  return kept == shape ? aligned : call("_broadcast_shape", {aligned}, {{"shape", shape}});
}

NDArray as_floats(const NDArray& array) { return is_floating(array.dtype()) ? array : cast_to(array, DType::kFloat32); }

}  // namespace headrace
