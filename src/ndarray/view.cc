#include "ndarray/view.h"

#include "base/check.h"
#include "base/slab.h"
#include "device/registry.h"
#include "headrace/ndarray.hpp"

namespace headrace {

Storage::~Storage() {
  if (free_owner_) {
    free_owner_(owner_);
  } else if (void* pointer = data_.load(std::memory_order_relaxed)) {
    allocator_of(device_).release(pointer, bytes_);
  }
}

void* Storage::allocate() {
  void* mine = allocator_of(device_).allocate(bytes_);
  void* expected = nullptr;
  if (data_.compare_exchange_strong(expected, mine, std::memory_order_acq_rel)) return mine;
  allocator_of(device_).release(mine, bytes_);
  return expected;
}

View::View(StoragePtr storage, DType dtype, const Shape& shape, const Strides& strides, int64_t offset)
    : storage_(std::move(storage)),
      shape_(shape),
      strides_(strides),
      offset_(offset),
      size_(element_count(shape)),
      dtype_(dtype),
      contiguous_(headrace::is_contiguous(shape, strides)) {}

View::View(StoragePtr storage, DType dtype, const Shape& shape)
    : storage_(std::move(storage)),
      shape_(shape),
      strides_(contiguous_strides(shape)),
      size_(element_count(shape)),
      dtype_(dtype),
      contiguous_(true) {}

void add_reference(const View* view) noexcept { view->references_.fetch_add(1, std::memory_order_relaxed); }

void release_reference(const View* view) noexcept {
  if (view->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete view;
}

ViewPtr make_view(const Shape& shape, DType dtype, Device device) {
  size_t bytes = static_cast<size_t>(element_count(shape)) * item_size(dtype);
  return ViewPtr(new View(StoragePtr(new Storage(device, bytes)), dtype, shape));
}

}  // namespace headrace
