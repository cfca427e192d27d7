// Memory of one GPU: small blocks lie in slabs, large ones have memory of their own; blocks are kept by size class for
// reuse. Work is retired before its memory is released, so a block is free when it comes back. Where memory is not
// pooled, or guarded (HEADRACE_MEMORY_GUARD), each block has memory of its own, no larger than asked for, and goes back
// at once: what looks at addresses, as compute-sanitizer does, sees its bounds. Any thread may call any function.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>

#include "device/allocator.h"
#include "device/block_pool.h"
#include "device/memory_counters.h"

namespace headrace {

class CudaDevice;

class CudaAllocator final : public Allocator {
 public:
  explicit CudaAllocator(CudaDevice& device);
  ~CudaAllocator() override;

  // Blocks are aligned to 256 bytes. Where memory runs out, waits a little for what is being computed to release some.
  void* allocate(size_t bytes) override;
  void release(void* block, size_t bytes) noexcept override;
  void trim() noexcept override;
  MemoryStats stats() const noexcept override;
  void reset_peak() noexcept override;

  // Around fork(): no other thread holds the lock while the process is copied.
  void lock_for_fork() noexcept { mutex_.lock(); }
  void unlock_after_fork() noexcept { mutex_.unlock(); }

 private:
  // Of the driver, cut into blocks of several classes.
  struct Slab {
    size_t used = 0;  // bytes from its start
    int live = 0;     // blocks handed out
  };

  void* take(int index, size_t bytes);
  void* make_block(int index, size_t bytes);
  void* make_memory(size_t bytes);
  void free_memory(void* memory) noexcept;
  void trim_locked() noexcept;
  Slab* slab_of(const void* block) noexcept;

  CudaDevice& device_;
  const bool is_pooled_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::map<char*, Slab> slabs_;  // this and what follows: guarded by mutex_
  BlockPool pool_;
  MemoryCounters trace_;
};

}  // namespace headrace
