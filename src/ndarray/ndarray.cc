#include "headrace/ndarray.hpp"

#include <cstring>

#include "base/check.h"
#include "engine/runtime.h"
#include "ndarray/device_copy.h"
#include "ndarray/snapshot.h"
#include "ndarray/sparse_parts.h"
#include "ndarray/view.h"
#include "timeline/timeline.h"

namespace headrace {

NDArray NDArray::empty(const Shape& shape, DType dtype, Device device) {
  for (int64_t extent : shape)
    check(extent >= 0, ErrorKind::kValue, "empty: shape {} has a negative extent", to_string(shape));
  return NDArray(make_view(shape, dtype, device));
}

NDArray NDArray::from_host(const void* data, const Shape& shape, DType dtype, Device device) {
  NDArray array = empty(shape, dtype, device.is_host() ? device : Device{});
  if (array.size() > 0) std::memcpy(array.view_->data(), data, array.view_->storage()->bytes());
  if (device.is_host()) return array;
  NDArray sent = empty(shape, dtype, device);
  push_device_copy(sent.view_, array.view_);
  return sent;
}

const Shape& NDArray::shape() const noexcept { return view_->shape(); }
const Strides& NDArray::strides() const noexcept { return view_->strides(); }
DType NDArray::dtype() const noexcept { return view_->dtype(); }
Device NDArray::device() const noexcept { return view_->storage() ? view_->storage()->device() : Device{}; }
StorageKind NDArray::storage_kind() const noexcept { return kind_of(*view_); }
int64_t NDArray::size() const noexcept { return view_->size(); }
bool NDArray::is_contiguous() const noexcept { return view_->is_contiguous(); }

void NDArray::wait_to_read() const {
  if (!view_->storage()) return;
  timeline::Span span({"wait_to_read", timeline::kCall});
  runtime().engine.wait_to_read(view_->storage()->var());
}

void check_has_values(const NDArray& array, const char* operation) { storage_of(*array.view(), operation); }

void NDArray::copy_to_host(void* destination) const {
  const NDArray source = snapshot(*this);
  source.wait_to_read();
  copy_values(source, destination);
}

double NDArray::item() const {
  check(size() == 1, ErrorKind::kValue, "item: the array has {} elements (shape {}); exactly one is needed", size(),
        to_string(shape()));
  const NDArray source = snapshot(*this);
  source.wait_to_read();
  return only_value(source);
}

void check_dtype(const NDArray& array, DType expected, const char* operation) {
  check(array.dtype() == expected, ErrorKind::kType, "{}: the array holds {}, not {}; convert it with astype first",
        operation, dtype_name(array.dtype()), dtype_name(expected));
}

}  // namespace headrace
