// Arrays go from one device to another.
#include "ndarray/device_copy.h"
#include "base/check.h"
#include "device/registry.h"
#include "headrace/sparse.hpp"
#include "op/invoke.h"
#include "op/thread_state.h"
#include "op/trace.h"

namespace headrace {

bool needs_device_copy(Device to, Device from) noexcept { return to != from && !(to.is_host() && from.is_host()); }

NDArray copied_to(const NDArray& source, Device device) {
  if (const StorageKind kind = source.storage_kind(); kind != StorageKind::kDense) {
    const NDArray made = sparse::zeros(kind, source.shape(), source.dtype(), device);
    copy_into(made, source.off_tape());
    return made;
  }
  const NDArray from = is_dense(source.shape(), source.strides()) ? source.off_tape() : contiguous(source.off_tape());
  NDArray made(make_view(from.shape(), from.dtype(), device, from.strides()));
  const KeepScope keep(false);  // there is nothing to keep yet
  if (needs_device_copy(device, from.device()))
    push_device_copy(made.view(), from.view(), thread_state().urgency);
  else
    copy_into(made, from);
  return made;
}

// The cast, and whatever else is not a plain copy of bytes, happens where the data are less: before for a narrower
// dtype, else after.
void copy_across(const NDArray& destination, const NDArray& source) {
  check(destination.shape() == source.shape(), ErrorKind::kValue,
        "copy: the source has shape {}, but the destination has shape {}", to_string(source.shape()),
        to_string(destination.shape()));
  NDArray from = source;
  if (item_size(destination.dtype()) < item_size(source.dtype())) from = cast_to(from, destination.dtype());
  if (from.dtype() == destination.dtype() && from.strides() == destination.strides() &&
      is_dense(from.shape(), from.strides()))
    return push_device_copy(destination.view(), from.view(), thread_state().urgency, thread_state().keeps);
  copy_into(destination, copied_to(from, destination.device()));
}

}  // namespace headrace
