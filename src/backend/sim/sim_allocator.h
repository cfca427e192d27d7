// Memory of one simulated GPU: blocks of the host, in size classes, kept for reuse by their class; never more at once
// than the device has. Any thread may call any function.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "device/allocator.h"
#include "device/block_pool.h"
#include "device/memory_counters.h"

namespace headrace {

class ProtectedMemory;

class SimAllocator final : public Allocator {
 public:
  // `ask` asks for the release of what is no longer used; it may be called from any thread. Blocks lie in `memory`,
  // which outlives this object; null: in memory that every thread can touch.
  SimAllocator(Device device, int64_t capacity, ProtectedMemory* memory, std::function<void()> ask);
  ~SimAllocator() override { trim(); }

  // Where memory runs out, waits a little for what is being computed to release some. Raises Error(kMemory).
  void* allocate(size_t bytes) override;
  void release(void* block, size_t bytes) noexcept override;
  void trim() noexcept override;
  MemoryStats stats() const noexcept override;
  void reset_peak() noexcept override;

  // The blocks that are in use now no longer count and are not used again; what they hold is lost.
  void lose_contents() noexcept;
  // Whether that has happened to a block, which is not released. Takes no lock.
  bool has_lost(const void* block) const noexcept;

  int64_t capacity() const noexcept;
  void set_capacity(int64_t bytes) noexcept;

  // Around fork(): no other thread holds the lock while the process is copied.
  void lock_for_fork() noexcept { mutex_.lock(); }
  void unlock_after_fork() noexcept { mutex_.unlock(); }

 private:
  void* take(int index);
  void trim_locked() noexcept;

  // Before each block.
  struct Header;
  static Header& header(const void* block) noexcept;
  void* make_block(int64_t bytes);
  void delete_block(void* block) noexcept;

  const Device device_;
  ProtectedMemory* const memory_;
  const std::function<void()> ask_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  int64_t capacity_;  // this and all below: guarded by mutex_
  BlockPool pool_{size_class::size};
  std::atomic<uint64_t> losses_{0};  // read without the mutex
  MemoryCounters trace_;
};

}  // namespace headrace
