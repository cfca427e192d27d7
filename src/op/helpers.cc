// Small operations that dispatch, gradients and compositions share.

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "engine/runtime.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace {

void copy_into(const NDArray& destination, const NDArray& source) {
  static const OpDef& cast = find_op("Cast");
  ThreadState& state = thread_state();
  bool recording = std::exchange(state.recording, false);
  NDArray target = destination.detach(), from = source.detach();
  try {
    invoke(cast, attrs_of(cast, {{"dtype", destination.dtype()}}), {&from, 1}, {&target, 1});
  } catch (...) {
    state.recording = recording;
    throw;
  }
  state.recording = recording;
}

NDArray contiguous(const NDArray& array) {
  if (array.is_contiguous()) return array;
  static const OpDef& copy = find_op("_copy");
  // Made here: by itself the copy would keep the array's order of axes.
  NDArray packed(make_view(array.shape(), array.dtype(), array.device()));
  invoke(copy, copy.default_attrs, {&array, 1}, {&packed, 1});
  return packed;
}

NDArray cast_to(const NDArray& array, DType dtype) {
  return array.dtype() == dtype ? array : call("Cast", {array}, {{"dtype", dtype}});
}

NDArray sum_to_shape(const NDArray& gradient, const Shape& shape) {
  const Shape& from = gradient.shape();
  if (from == shape) return gradient;
  size_t lead = from.size() - shape.size();
  Shape axes;
  for (size_t i = 0; i < from.size(); ++i)
    if (i < lead || shape[i - lead] != from[i]) axes.push_back(static_cast<int64_t>(i));
  NDArray sum = call("_sum_axes", {gradient}, {{"axis", axes}});
  return sum.shape() == shape ? sum : call("_reshape_to", {sum}, {{"shape", shape}});
}

NDArray full(const Shape& shape, double value, DType dtype, Device device) {
  NDArray result(make_view(shape, dtype, device));
  Var* var = &result.view()->storage()->var();
  int64_t bytes = result.size() * static_cast<int64_t>(item_size(dtype));
  TaskSpec spec{
      .name = "_full", .writes = {&var, 1}, .cost_ns = 20 + 0.05 * static_cast<double>(bytes), .fresh_writes = true};
  runtime().engine.push(spec, [view = result.view(), value] {
    dispatch(view->dtype(), [&]<class T>() {
      T* to = reinterpret_cast<T*>(view->data());
      T element = static_cast<T>(value);
      parallel_for(view->size(), 1 << 16, 0.05 * static_cast<double>(view->size() * sizeof(T)),
                   [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, element); });
    });
  });
  return result;
}

NDArray zeros_like(const NDArray& array) { return full(array.shape(), 0, array.dtype(), array.device()); }
NDArray ones_like(const NDArray& array) { return full(array.shape(), 1, array.dtype(), array.device()); }

}  // namespace headrace
