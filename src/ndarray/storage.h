// Storage: bytes on one device, plus the Var that orders access to them.
//
// Owned jointly by views (the frontend's) and by queued tasks. Memory comes when a task first touches it, on the thread
// that runs the task, and goes back to the device's pool with the last owner; so memory follows what runs.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/ref_counted.h"
#include "base/slab.h"
#include "device/allocator.h"
#include "engine/var.h"
#include "headrace/device.hpp"

namespace headrace {

class LayoutCopies;  // ndarray/layout_copies.h

class Storage final : public RefCounted<Storage> {
 public:
  // Bytes that come from the device's allocator at first use.
  Storage(Allocator& allocator, Device device, size_t bytes) noexcept
      : device_(device), bytes_(bytes), allocator_(&allocator), copies_(nullptr) {}

  // Borrowed memory: `free_owner(owner)` is called, on any thread, when the last reference is gone.
  Storage(Device device, size_t bytes, void* data, void* owner, void (*free_owner)(void*)) noexcept
      : device_(device), is_borrowed_(true), bytes_(bytes), data_(data), owner_(owner), free_owner_(free_owner) {}
  ~Storage();

  Device device() const noexcept { return device_; }
  size_t bytes() const noexcept { return bytes_; }
  Var& var() noexcept { return var_; }

  // The memory, allocated now if it is not there yet. Raises MemoryError. Any thread that holds access to var(). Memory
  // of an accelerator is for work on one of its streams alone: raises RuntimeError elsewhere.
  void* data() {
    if (!device_.is_host()) [[unlikely]]
      check_reach();
    return address();
  }
  // The same for those who hand the address to a device.
  void* address() {
    void* pointer = data_.load(std::memory_order_acquire);
    return pointer ? pointer : allocate();
  }
  bool is_borrowed() const noexcept { return is_borrowed_; }
  // What kernels keep of the contents until they change. Null where changes are not seen: in borrowed and in exposed
  // memory. Any thread that holds access to var().
  LayoutCopies* copies();
  // Whoever holds write access to var() calls this before it writes: what was kept of the contents goes.
  void discard_copies() noexcept {
    if (!is_borrowed_ && copies_.load(std::memory_order_acquire)) drop_copies();
  }
  // Code outside sees the memory from now on and may change it at any time. Any thread.
  void expose() noexcept { is_exposed_.store(true, std::memory_order_relaxed); }

  // Null for borrowed memory.
  Allocator* allocator() const noexcept { return is_borrowed() ? nullptr : allocator_; }

  static void* operator new(size_t size) { return slab_allocate(size); }
  static void operator delete(void* pointer, size_t size) noexcept { slab_release(pointer, size); }

 private:
  void* allocate();
  void check_reach() const;
  void drop_copies() noexcept;

  Device device_;
  const bool is_borrowed_ = false;
  std::atomic<bool> is_exposed_{false};
  Var var_;
  size_t bytes_;
  std::atomic<void*> data_{nullptr};
  union {
    Allocator* allocator_;
    void* owner_;  // of borrowed memory
  };
  union {
    std::atomic<LayoutCopies*> copies_;  // owned
    void (*free_owner_)(void*);          // of borrowed memory
  };
};

static_assert(sizeof(Storage) <= kSlabGranule, "the smallest slabs hold it");

using StoragePtr = IntrusivePtr<Storage>;

}  // namespace headrace
