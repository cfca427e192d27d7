#include "headrace/shape.hpp"

#include <algorithm>

#include "base/check.h"

namespace headrace {

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  bool too_big = false, is_empty = false;
  for (int64_t extent : shape) {
    is_empty |= extent == 0;
    too_big |= __builtin_mul_overflow(count, extent == 0 ? 1 : extent, &count) || count > kMostElements;
  }
  check(!too_big, ErrorKind::kMemory, "an array of shape {} has too many elements to address", to_string(shape));
  return is_empty ? 0 : count;
}

int64_t multiply_extents(int64_t a, int64_t b, const char* operation) {
  int64_t product;
  check(!__builtin_mul_overflow(a, b, &product) && product <= kMostElements, ErrorKind::kMemory,
        "{}: an array of {} x {} elements is too large to address", operation, a, b);
  return product;
}

namespace {

// Of a shape with too many elements for an array it wraps: strides may be asked for before anybody counts.
void widen(int64_t& step, int64_t extent) { (void)__builtin_mul_overflow(step, extent, &step); }

}  // namespace

Strides contiguous_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    widen(step, shape[i]);
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != step) return false;
    widen(step, shape[i]);
  }
  return true;
}

Strides channels_last_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t step = 1;
  if (shape.size() > 1) {
    strides[1] = 1;
    step = shape[1];
  }
  for (size_t i = shape.size(); i-- > 0;) {
    if (i == 1) continue;
    strides[i] = step;
    widen(step, shape[i]);
  }
  return strides;
}

bool is_channels_last(const Shape& shape, const Strides& strides) {
  if (shape.size() < 3) return false;
  const Strides wanted = channels_last_strides(shape);
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && strides[i] != wanted[i]) return false;
  return true;
}

bool is_dense(const Shape& shape, const Strides& strides) {
  Shape order;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) order.push_back(static_cast<int64_t>(i));
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return strides[static_cast<size_t>(a)] < strides[static_cast<size_t>(b)]; });
  int64_t step = 1;
  for (int64_t axis : order) {
    if (strides[static_cast<size_t>(axis)] != step) return false;
    widen(step, shape[static_cast<size_t>(axis)]);
  }
  return true;
}

ShapeText::operator std::string() const {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* operation) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t x = longer[lead + i], y = shorter[i];
    check(
        x == y || x == 1 || y == 1, ErrorKind::kValue,
        "{}: shapes {} and {} do not broadcast together: axis {} has extents {} and {}; equal extents or 1 are needed",
        operation, to_string(a), to_string(b), lead + i, x, y);
    result[lead + i] = x == 1 ? y : x;
  }
  return result;
}

int64_t normalize_axis(int64_t axis, int64_t ndim, const char* operation) {
  check(ndim > 0, ErrorKind::kValue, "{}: axis {} was asked for, but the array has no axes", operation, axis);
  check(axis >= -ndim && axis < ndim, ErrorKind::kValue,
        "{}: axis {} is out of range for an array of {} dimension(s); it must lie in [{}, {}]", operation, axis, ndim,
        -ndim, ndim - 1);
  return axis < 0 ? axis + ndim : axis;
}

}  // namespace headrace
