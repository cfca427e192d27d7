// Host memory. Blocks up to 1 KiB come from the slabs, up to 1 MiB from arenas, larger ones are regions of their own;
// arenas and regions are aligned to 2 MiB and ask for huge pages. A released block is kept for the next of its class:
// fresh pages cost far more than most operations. Any thread may call any function. Where memory is not pooled every
// block comes from the system's heap.
#pragma once

#include <array>
#include <atomic>

#include "backend/cpu/memory_counter.h"
#include "base/spin_lock.h"
#include "device/allocator.h"
#include "device/memory_counters.h"
#include "device/size_class.h"

namespace headrace {

// There is one per process: host_allocator().
class HostAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes) override;
  ScratchBlock allocate_scratch(size_t bytes) override;
  void release(void* block, size_t bytes) noexcept override;
  void trim() noexcept override;
  MemoryStats stats() const noexcept override;
  void reset_peak() noexcept override { counter_.reset_peak(); }

  // Around fork(): no other thread holds a lock while the process is copied.
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;

 private:
  friend HostAllocator& host_allocator();
  HostAllocator();

  struct FreeBlock {
    FreeBlock* next;
  };
  struct FreeList {
    SpinLock lock;
    FreeBlock* head = nullptr;  // guarded by lock
  };

  void count(int64_t bytes) noexcept;  // negative: released
  void* take_free(int index) noexcept;
  void give_up_smaller_regions(int index) noexcept;
  void* make_block(int index) noexcept;  // null: the system gives nothing
  void* carve(size_t bytes) noexcept;
  void* make_room_and_retry(size_t bytes, int index);
  [[noreturn]] void refuse(size_t bytes) const;

  const bool is_guarded_;  // HEADRACE_MEMORY_GUARD: see guarded_memory.h
  const int64_t physical_bytes_;
  const int64_t watermark_;
  MemoryCounter counter_;
  MemoryCounters trace_{Device{}};
  std::atomic<int64_t> pooled_{0};
  std::array<FreeList, size_class::kCount> free_;

  SpinLock arena_lock_;
  char* arena_next_ = nullptr;  // guarded by arena_lock_: the unused rest of the newest arena
  char* arena_end_ = nullptr;   // guarded by arena_lock_
};

HostAllocator& host_allocator();

}  // namespace headrace
