// StorageExtras: what few storages have: layout copies, and memory that they share with others.
#pragma once

#include <cstddef>
#include <utility>

#include "base/ref_counted.h"
#include "base/spin_lock.h"
#include "device/allocator.h"
#include "ndarray/layout_copies.h"

namespace headrace {

// Memory that several storages lie in; goes back with the last of them. Nobody writes it. Any thread.
class SharedMemory final : public RefCounted<SharedMemory> {
 public:
  SharedMemory(Allocator& allocator, void* data, size_t bytes) noexcept
      : allocator_(allocator), data_(data), bytes_(bytes) {}
  ~SharedMemory() { allocator_.release(data_, bytes_); }

  void* data() const noexcept { return data_; }
  // The last holder gets the memory for itself and may write it: true, and the object owns nothing any more.
  bool take() noexcept { return reference_count() == 1 && std::exchange(data_, nullptr) != nullptr; }

 private:
  Allocator& allocator_;
  void* data_;
  size_t bytes_;
};

struct StorageExtras {
  LayoutCopies copies;
  SpinLock lock;
  IntrusivePtr<SharedMemory> memory;  // null: the storage's own. Guarded by lock, unless no one else has access
};

}  // namespace headrace
