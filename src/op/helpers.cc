// Small operations that dispatch, gradients and compositions share.

#include <cmath>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "op/call_body.h"
#include "op/invoke.h"
#include "op/invoke_stored.h"
#include "op/thread_state.h"
#include "op/trace.h"

namespace headrace {

namespace {

void fill(const View& view, double value) {
  dispatch(view.dtype(), [&]<class T>() {
    T* to = reinterpret_cast<T*>(view.data());
    T element = static_cast<T>(value);
    parallel_for(view.size(), 1 << 16, 0.05 * static_cast<double>(view.size() * sizeof(T)),
                 [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, element); });
  });
}

// An array over new memory, dense in whatever order of axes, every element of which is `value`. On an accelerator a
// kernel writes it; zeros of the host are written when somebody reads them.
NDArray filled(ViewPtr fresh, double value) {
  if (value == 0 && !std::signbit(value) && fresh->storage()->device().is_host()) {
    fresh->storage()->begin_as_zeros();
    return NDArray(std::move(fresh));
  }
  Var* var = &fresh->storage()->var();
  int64_t bytes = fresh->size() * static_cast<int64_t>(item_size(fresh->dtype()));
  TaskSpec spec{.name = "_full",
                .writes = {&var, 1},
                .cost_ns = 20 + 0.05 * static_cast<double>(bytes),
                .fresh_writes = true,
                .stream = compute_stream(fresh->storage()->device())};
  if (spec.stream) {
    static const OpDef& operation = find_op("_full");
    const AttrsPtr attrs = attrs_of(operation, {{"shape", fresh->shape()}, {"value", value}});
    View* const output = fresh.get();
    runtime().engine.push(spec, CallBody(operation, *attrs, {}, {&output, 1}, 0));
  } else {
    runtime().engine.push(spec, [view = fresh, value] { fill(*view, value); });
  }
  return NDArray(std::move(fresh));
}

NDArray full_like(const NDArray& array, double value) {
  const bool keeps_order =
      !thread_state().tracing && !array.is_contiguous() && is_dense(array.shape(), array.strides());
  if (!keeps_order) return full(array.shape(), value, array.dtype(), array.device());
  return filled(make_view(array.shape(), array.dtype(), array.device(), array.strides()), value);
}

}  // namespace

void copy_into(const NDArray& destination, const NDArray& source) {
  static const OpDef& cast = find_op("Cast");
  const ThreadStateScope scope(kWithoutRecording);
  NDArray target(destination.view()), from(source.view());
  if (target.storage_kind() != StorageKind::kDense || from.storage_kind() != StorageKind::kDense)
    copy_stored(target, from);
  else if (needs_device_copy(target.device(), from.device()))
    copy_across(target, from);
  else
    invoke(cast, attrs_of(cast, {{"dtype", destination.dtype()}}), {&from, 1}, {&target, 1});
}

NDArray contiguous(const NDArray& array) { return array.is_contiguous() ? array : call("_contiguous", {array}); }

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
  if (thread_state().tracing)
    return call("_full", {}, {{"shape", shape}, {"value", value}, {"dtype", std::string(dtype_name(dtype))}});
  return filled(make_view(shape, dtype, device), value);
}

NDArray without_history(const NDArray& array) {
  return is_abstract(array) ? call("BlockGrad", {array}) : array.off_tape();
}

NDArray zeros_like(const NDArray& array) { return full_like(array, 0); }
NDArray ones_like(const NDArray& array) { return full_like(array, 1); }

}  // namespace headrace
