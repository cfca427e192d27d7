// Small operations that dispatch, gradients and compositions share.

#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace {

void copy_into(const NDArray& destination, const NDArray& source) {
  const OpDef& cast = find_op("Cast");
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

NDArray contiguous(const NDArray& array) { return array.is_contiguous() ? array : call("_copy", {array}); }

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
  return call("_full", {}, {{"shape", shape}, {"value", value}, {"dtype", dtype}, {"ctx", to_string(device)}});
}

NDArray zeros_like(const NDArray& array) { return full(array.shape(), 0, array.dtype(), array.device()); }
NDArray ones_like(const NDArray& array) { return full(array.shape(), 1, array.dtype(), array.device()); }

}  // namespace headrace
