#include "ndarray/view.h"

#include "base/check.h"
#include "base/slab.h"
#include "device/registry.h"
#include "headrace/ndarray.hpp"

namespace headrace {
namespace {

// The storage of an array of which another view is taken.
const StoragePtr& viewable(const View& base) {
  if (base.storage() && !base.is_plain()) [[unlikely]]
    storage_of(base, "view");
  return base.storage_ptr();
}

bool is_dense(const StoragePtr& storage) noexcept { return storage && storage->kind() == StorageKind::kDense; }

}  // namespace

View::View(StoragePtr storage, DType dtype, const Shape& shape, const Strides& strides, int64_t offset)
    : storage_(std::move(storage)),
      shape_(shape),
      strides_(strides),
      offset_(offset),
      size_(element_count(shape)),
      dtype_(dtype),
      contiguous_(headrace::is_contiguous(shape, strides)),
      plain_(is_dense(storage_)) {}

View::View(StoragePtr storage, DType dtype, const Shape& shape)
    : storage_(std::move(storage)),
      shape_(shape),
      strides_(contiguous_strides(shape)),
      size_(element_count(shape)),
      dtype_(dtype),
      contiguous_(true),
      plain_(is_dense(storage_)) {}

void add_reference(const View* view) noexcept { detail::add_count(view->references_); }

void release_reference(const View* view) noexcept {
  if (detail::drop_count(view->references_)) delete view;
}

View::View(const View& base, int64_t start, int64_t step, int64_t count)
    : storage_(viewable(base)),
      shape_(base.shape_),
      strides_(base.strides_),
      offset_(base.offset_ + start * base.strides_[0]),
      dtype_(base.dtype_),
      plain_(base.plain_) {
  shape_[0] = count;
  strides_[0] *= step;
  size_ = element_count(shape_);
  contiguous_ = headrace::is_contiguous(shape_, strides_);
}

View::View(const View& base, int64_t index)
    : storage_(viewable(base)),
      shape_(base.shape_.begin() + 1, base.shape_.end()),
      strides_(base.strides_.begin() + 1, base.strides_.end()),
      offset_(base.offset_ + index * base.strides_[0]),
      size_(element_count(shape_)),
      dtype_(base.dtype_),
      contiguous_(base.contiguous_ || headrace::is_contiguous(shape_, strides_)),
      plain_(base.plain_) {}

View::View(StoragePtr storage, DType dtype, const View& like)
    : storage_(std::move(storage)),
      shape_(like.shape_),
      strides_(like.strides_),
      size_(like.size_),
      dtype_(dtype),
      contiguous_(true),
      plain_(true) {}

Storage& storage_of(const View& view, std::string_view operation) {
  if (Storage* const storage = view.storage()) {
    check(storage->kind() == StorageKind::kDense, ErrorKind::kRuntime,
          "{}: the array is stored as {}, not element by element; cast_storage gives a dense one", operation,
          storage_kind_name(storage->kind()));
    return *storage;
  }
  throw ValuesUnknown(
      fmt::format("{}: the values are not known while a graph is traced; compute with operators instead of reading "
                  "values, or do not hybridize this block",
                  operation));
}

ViewPtr make_view_like(const View& like, DType dtype) {
  const Device device = like.storage()->device();
  Allocator* const allocator = like.storage()->allocator();
  if (!allocator || !like.is_contiguous() || dtype != like.dtype()) return make_view(like.shape(), dtype, device);
  const size_t bytes = static_cast<size_t>(like.size()) * item_size(dtype);
  return ViewPtr(new View(StoragePtr(new Storage(*allocator, device, bytes)), dtype, like));
}

ViewPtr make_view(const Shape& shape, DType dtype, Device device, const Strides& strides) {
  const size_t bytes = static_cast<size_t>(element_count(shape)) * item_size(dtype);
  return ViewPtr(new View(StoragePtr(new Storage(allocator_of(device), device, bytes)), dtype, shape, strides, 0));
}

ViewPtr make_view(const Shape& shape, DType dtype, Device device) {
  size_t bytes = static_cast<size_t>(element_count(shape)) * item_size(dtype);
  return ViewPtr(new View(StoragePtr(new Storage(allocator_of(device), device, bytes)), dtype, shape));
}

}  // namespace headrace
