// Storage: bytes on one device, plus the Var that orders access to them.
//
// Owned jointly by views (the frontend's) and by queued tasks. Memory comes when a task first touches it, on the thread
// that runs the task, and goes back to the device's pool with the last owner; so memory follows what runs. One that
// begins as zeros needs none before it is read or written. Storages with the same contents may lie in one memory
// (share()) until one of them is written. A storage of a sparse array has parts in place of bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/ref_counted.h"
#include "base/slab.h"
#include "device/allocator.h"
#include "engine/var.h"
#include "headrace/device.hpp"
#include "headrace/storage_kind.hpp"

namespace headrace {

class LayoutCopies;    // ndarray/layout_copies.h
class SharedMemory;    // ndarray/storage_extras.h
struct SparseParts;    // ndarray/sparse_parts.h
struct StorageExtras;  // ndarray/storage_extras.h

class Storage final : public RefCounted<Storage> {
 public:
  // Bytes that come from the device's allocator at first use.
  Storage(Allocator& allocator, Device device, size_t bytes) noexcept
      : device_(device), bytes_(bytes), allocator_(&allocator), extras_(nullptr) {}

  // Borrowed memory: `free_owner(owner)` is called, on any thread, when the last reference is gone.
  Storage(Device device, size_t bytes, void* data, void* owner, void (*free_owner)(void*)) noexcept
      : device_(device), is_borrowed_(true), bytes_(bytes), data_(data), owner_(owner), free_owner_(free_owner) {}

  // Of a sparse array. Whoever writes it first sets the parts.
  Storage(Device device, StorageKind kind) noexcept
      : device_(device),
        is_borrowed_(true),
        kind_(kind),
        bytes_(0),
        owner_(nullptr),
        free_owner_(&Storage::free_parts) {}
  ~Storage();

  // Host memory of nobody else yet: reads as zeros as long as nobody has written it.
  void begin_as_zeros() noexcept { marks_.fetch_or(kZeros, std::memory_order_relaxed); }

  StorageKind kind() const noexcept { return kind_; }
  // Of a sparse array. Whoever holds access to var(), and write access to set them; others may hold on to the arrays
  // that were parts before.
  const SparseParts& parts() const;
  void set_parts(SparseParts parts);

  Device device() const noexcept { return device_; }
  size_t bytes() const noexcept { return bytes_; }
  Var& var() noexcept { return var_; }

  // The memory, allocated now if it is not there yet. Raises MemoryError, RuntimeError for a sparse array. Any thread
  // that holds access to var(). Memory of an accelerator is for work on one of its streams alone: raises RuntimeError
  // elsewhere.
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
  // Whoever holds write access to var() calls this before it writes: what was kept of the contents goes, and the memory
  // is this storage's alone. What data() gave before is not valid any more. With `replaces`, all bytes will be written
  // and none read. Raises MemoryError, and nothing has changed.
  void begin_write(bool replaces) {
    if (has_extras()) begin_write_slowly(replaces);
  }
  // Whether begin_write() has anything to do.
  bool has_extras() const noexcept { return !is_borrowed_ && extras_.load(std::memory_order_acquire); }
  // Makes the contents those of `source`, in the same memory: nothing is copied until one of the two is written. False
  // when that cannot be, and nothing has changed: other sizes, or one that may not. Any thread that holds write access
  // to var() and access to that of `source`.
  bool share(Storage& source);
  // The same, or where that cannot be a copy of `source`, which is of the same size. Raises MemoryError.
  void take_contents(Storage& source);
  // Large memory of the host that code outside neither owns nor sees. Who reads it holds access to var(): it may be
  // exchanged for other memory when it is written.
  bool may_share() const noexcept {
    return device_.is_host() && !is_borrowed_ && bytes_ >= kLeastSharedBytes && !is_exposed();
  }
  // Code outside sees the memory from now on, as data() gives it after the next wait for var(), and may change it at
  // any time. Any thread.
  void expose();

  // Null for borrowed memory.
  Allocator* allocator() const noexcept { return is_borrowed() ? nullptr : allocator_; }

  static constexpr size_t kLeastSharedBytes = 64 * 1024;  // less is copied before shared memory is found

  static void* operator new(size_t size) { return slab_allocate(size); }
  static void operator delete(void* pointer, size_t size) noexcept { slab_release(pointer, size); }

 private:
  static void free_parts(void* parts);
  void* allocate();
  void check_reach() const;
  void begin_write_slowly(bool replaces);
  StorageExtras& extras();
  IntrusivePtr<SharedMemory> lend();
  void give_back(std::unique_ptr<StorageExtras> extras, void* memory) noexcept;
  bool is_exposed() const noexcept { return marks_.load(std::memory_order_seq_cst) & kExposed; }

  static constexpr uint8_t kExposed = 1;
  static constexpr uint8_t kShared = 2;  // perhaps
  static constexpr uint8_t kZeros = 4;   // the memory comes filled with them

  Device device_;
  const bool is_borrowed_ = false;
  const StorageKind kind_ = StorageKind::kDense;
  std::atomic<uint8_t> marks_{0};
  Var var_;
  size_t bytes_;
  std::atomic<void*> data_{nullptr};
  union {
    Allocator* allocator_;
    void* owner_;  // of borrowed memory; of a sparse array its SparseParts, which it owns
  };
  union {
    std::atomic<StorageExtras*> extras_;  // owned; most have none
    void (*free_owner_)(void*);           // of borrowed memory
  };
};

static_assert(sizeof(Storage) <= kSlabGranule, "the smallest slabs hold it");

using StoragePtr = IntrusivePtr<Storage>;

}  // namespace headrace
