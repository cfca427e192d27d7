// View: how an array sees its storage: dtype, shape, strides and offset, all in elements. Immutable once shared.
//
// A view without storage describes an abstract value: it has type but no data (what a tape node keeps of an array that
// its gradient does not need).
#pragma once

#include <atomic>
#include <string_view>

#include "base/slab.h"
#include "headrace/dtype.hpp"
#include "headrace/error.hpp"
#include "headrace/shape.hpp"
#include "ndarray/storage.h"

namespace headrace {

class View final {
 public:
  View(StoragePtr storage, DType dtype, const Shape& shape, const Strides& strides, int64_t offset);
  // Row-major over the whole of a new storage.
  View(StoragePtr storage, DType dtype, const Shape& shape);
  // Every `step`-th of `count` entries of `base` along its first axis, from `start` on.
  View(const View& base, int64_t start, int64_t step, int64_t count);
  // Entry `index` of `base` along its first axis, without that axis.
  View(const View& base, int64_t index);
  // Row-major over a new, dense storage, shaped like a row-major view.
  View(StoragePtr storage, DType dtype, const View& like);

  Storage* storage() const noexcept { return storage_.get(); }
  const StoragePtr& storage_ptr() const noexcept { return storage_; }
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  const Strides& strides() const noexcept { return strides_; }
  int64_t offset() const noexcept { return offset_; }
  int64_t size() const noexcept { return size_; }
  bool is_contiguous() const noexcept { return contiguous_; }
  // It has values, stored element by element.
  bool is_plain() const noexcept { return plain_; }
  // Every byte of the storage belongs to an element: writing all elements leaves nothing of what was there before.
  bool covers_storage() const noexcept { return static_cast<size_t>(size_) * item_size(dtype_) == storage_->bytes(); }

  // A tape whose gradients read what the view shows, by its number. Any thread.
  uint32_t tape() const noexcept { return tape_.load(std::memory_order_relaxed); }
  void set_tape(uint32_t tape) const noexcept { tape_.store(tape, std::memory_order_relaxed); }

  uint32_t reference_count() const noexcept { return references_.load(std::memory_order_acquire); }

  // Address of the first element; allocates. Only while holding access to the storage's Var.
  char* data() const { return static_cast<char*>(storage_->data()) + offset_bytes(); }
  // The same for those who hand it to a device.
  char* address() const { return static_cast<char*>(storage_->address()) + offset_bytes(); }

  static void* operator new(size_t size) { return slab_allocate(size); }
  static void operator delete(void* pointer, size_t size) noexcept { slab_release(pointer, size); }

 private:
  int64_t offset_bytes() const noexcept { return offset_ * static_cast<int64_t>(item_size(dtype_)); }
  friend void add_reference(const View* view) noexcept;
  friend void release_reference(const View* view) noexcept;

  StoragePtr storage_;
  Shape shape_;
  Strides strides_;
  int64_t offset_ = 0;
  int64_t size_;
  mutable std::atomic<uint32_t> references_{0}, tape_{0};
  DType dtype_;
  bool contiguous_;
  bool plain_;
};

using ViewPtr = IntrusivePtr<View>;

// The values of an abstract array were asked for.
struct ValuesUnknown : Error {
  explicit ValuesUnknown(const std::string& message) : Error(ErrorKind::kRuntime, message) {}
};

// Where the values of an array lie that `operation` is about to read or write element by element. ValuesUnknown: it is
// abstract. Raises RuntimeError for a sparse one.
Storage& storage_of(const View& view, std::string_view operation);

// A view of a new, not yet allocated storage. Raises MemoryError for a size that cannot be addressed, RuntimeError when
// there is no such device.
ViewPtr make_view(const Shape& shape, DType dtype, Device device);
// The same with other strides, which must be dense.
ViewPtr make_view(const Shape& shape, DType dtype, Device device, const Strides& strides);
// Row-major, with the shape and device of a view that has storage: cheaper than the others.
ViewPtr make_view_like(const View& like, DType dtype);

}  // namespace headrace
