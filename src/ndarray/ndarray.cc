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

namespace {

const View& view_of(const NDArray& array, const char* asked) {
  check(static_cast<bool>(array), ErrorKind::kType,
        "{}: the array is none, as it was default-constructed or moved from; give it a value first, and ask "
        "`if (array)` where it may have none",
        asked);
  return *array.view();
}

}  // namespace

NDArray NDArray::empty(const Shape& shape, DType dtype, Device device) {
  for (int64_t extent : shape)
    check(extent >= 0, ErrorKind::kValue, "empty: shape {} has a negative extent", to_string(shape));
  return NDArray(make_view(shape, dtype, device));
}

NDArray NDArray::from_host(const void* data, const Shape& shape, DType dtype, Device device) {
  NDArray array = empty(shape, dtype, device.is_host() ? device : Device{});
  check(data || array.size() == 0, ErrorKind::kValue, "from_host: the values of shape {} are at a null pointer",
        to_string(shape));
  if (array.size() > 0) std::memcpy(array.view_->data(), data, array.view_->storage()->bytes());
  if (device.is_host()) return array;
  NDArray sent = empty(shape, dtype, device);
  push_device_copy(sent.view_, array.view_);
  return sent;
}

const Shape& NDArray::shape() const& { return view_of(*this, "shape").shape(); }
const Strides& NDArray::strides() const& { return view_of(*this, "strides").strides(); }
DType NDArray::dtype() const { return view_of(*this, "dtype").dtype(); }
Device NDArray::device() const {
  const Storage* const storage = view_of(*this, "device").storage();
  return storage ? storage->device() : Device{};
}
StorageKind NDArray::storage_kind() const { return kind_of(view_of(*this, "storage_kind")); }
int64_t NDArray::size() const { return view_of(*this, "size").size(); }
bool NDArray::is_contiguous() const { return view_of(*this, "is_contiguous").is_contiguous(); }

void NDArray::wait_to_read() const {
  if (!view_of(*this, "wait_to_read").storage()) return;
  timeline::Span span({"wait_to_read", timeline::kCall});
  runtime().engine.wait_to_read(view_->storage()->var());
}

void check_has_values(const NDArray& array, const char* operation) { storage_of(*array.view(), operation); }

void NDArray::copy_to_host(void* destination) const {
  view_of(*this, "copy_to_host");
  check(destination || size() == 0, ErrorKind::kValue, "copy_to_host: the values of shape {} go to a null pointer",
        to_string(shape()));
  const NDArray source = snapshot(*this);
  source.wait_to_read();
  copy_values(source, destination);
}

double NDArray::item() const {
  view_of(*this, "item");
  check(size() == 1, ErrorKind::kValue, "item: the array has {} elements (shape {}); exactly one is needed", size(),
        to_string(shape()));
  const NDArray source = snapshot(*this);
  source.wait_to_read();
  return only_value(source);
}

void fail_no_room(const NDArray& array, const char* operation) {
  fail(ErrorKind::kMemory, "{}: the host has no memory for {} of shape {}; read a part of the array", operation,
       dtype_name(array.dtype()), to_string(array.shape()));
}

void check_count(size_t count, const Shape& shape, const char* operation) {
  check(std::cmp_equal(count, element_count(shape)), ErrorKind::kValue,
        "{}: shape {} has {} elements, but {} values are given; give as many", operation, to_string(shape),
        element_count(shape), count);
}

void check_dtype(const NDArray& array, DType expected, const char* operation) {
  view_of(array, operation);
  check(array.dtype() == expected, ErrorKind::kType,
        "{}: the array holds {}, not {}; convert it first (astype, nd::cast)", operation, dtype_name(array.dtype()),
        dtype_name(expected));
}

}  // namespace headrace
