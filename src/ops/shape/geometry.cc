#include "ops/shape/geometry.h"

#include "base/check.h"
#include "op/kernel.h"

namespace headrace {

Geometry packed_geometry(const Shape& shape) { return {shape, contiguous_strides(shape), 0}; }

bool reshaped(const Geometry& in, const Shape& shape, Geometry& out) {
  out = {shape, contiguous_strides(shape), in.offset};
  if (is_contiguous(in.shape, in.strides) || element_count(shape) == 0) return true;
  // Walks both shapes from the inside; runs of input axes that step as one are shared out to output axes.
  size_t from = in.shape.size(), to = shape.size();
  auto skip_ones = [&] {
    while (from > 0 && in.shape[from - 1] == 1) --from;
  };
  for (skip_ones(); from > 0; skip_ones()) {
    int64_t run = in.shape[from - 1], step = in.strides[from - 1];
    --from;
    while (from > 0 && (in.shape[from - 1] == 1 || in.strides[from - 1] == run * step)) run *= in.shape[--from];
    while (to > 0 && (run > 1 || shape[to - 1] == 1)) {
      int64_t extent = shape[to - 1];
      if (run % extent != 0) return false;
      out.strides[--to] = step;
      run /= extent;
      step *= extent;
    }
    if (run != 1) return false;
  }
  return true;
}

Geometry permuted(const Geometry& in, const Shape& axes) {
  Geometry out{in.shape, in.strides, in.offset};
  for (size_t i = 0; i < axes.size(); ++i) {
    out.shape[i] = in.shape[static_cast<size_t>(axes[i])];
    out.strides[i] = in.strides[static_cast<size_t>(axes[i])];
  }
  return out;
}

Geometry broadcast(const Geometry& in, const Shape& shape) {
  Geometry out{shape, Strides(shape.size(), 0), in.offset};
  size_t lead = shape.size() - in.shape.size();
  for (size_t i = 0; i < in.shape.size(); ++i)
    out.strides[lead + i] = in.shape[i] == 1 && shape[lead + i] != 1 ? 0 : in.strides[i];
  return out;
}

Geometry sliced(const Geometry& in, int64_t axis, int64_t begin, int64_t step, int64_t count) {
  Geometry out = in;
  size_t a = static_cast<size_t>(axis);
  out.offset += begin * in.strides[a];
  out.strides[a] *= step;
  out.shape[a] = count;
  return out;
}

Shape reversed_axes(size_t ndim) {
  Shape axes(ndim);
  for (size_t i = 0; i < ndim; ++i) axes[i] = static_cast<int64_t>(ndim - 1 - i);
  return axes;
}

Shape inverse_axes(const Shape& axes) {
  Shape inverse(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) inverse[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  return inverse;
}

Shape normalize_axes(const Shape& axes, size_t ndim, const char* operation) {
  Shape result;
  for (int64_t axis : axes) {
    int64_t a = normalize_axis(axis, static_cast<int64_t>(ndim), operation);
    check(std::find(result.begin(), result.end(), a) == result.end(), ErrorKind::kValue,
          "{}: axis {} appears twice in {}", operation, axis, to_string(axes));
    result.push_back(a);
  }
  return result;
}

void copy_viewed(KernelContext& c, const Tensor& from, const Geometry& geometry, const Tensor& to) {
  const char* first = from.as<char>() + geometry.offset * static_cast<int64_t>(item_size(from.dtype));
  copy_elements(c, to.data, contiguous_strides(geometry.shape), first, geometry.strides, geometry.shape, to.dtype);
}

void copy_in_order(KernelContext& c, const Tensor& from, const Tensor& to) {
  copy_elements(c, to.data, contiguous_strides(from.shape), from.data, from.strides, from.shape, to.dtype);
}

}  // namespace headrace
