#include "backend/cuda/pinned_memory.h"

#include <mutex>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_device.h"
#include "backend/cuda/gang_lock.h"
#include "base/check.h"
#include "device/block_pool.h"

namespace headrace {
namespace {

// Blocks are the same to all devices; the context of the first asks for them.
class PinnedMemory final : public Allocator {
 public:
  explicit PinnedMemory(CudaDevice& first) : first_(first) {}

  void* allocate(size_t bytes) override {
    check(bytes <= size_class::kLargest, ErrorKind::kMemory, "cpu_pinned: {} bytes cannot be addressed", bytes);
    const int index = size_class::of_request(bytes);
    const std::lock_guard guard(pinned_memory_lock());
    if (void* const known = pool_.take(index)) return known;
    void* const block = make_block(size_class::size(index));
    pool_.count_new(index);
    return block;
  }

  void release(void* block, size_t bytes) noexcept override {
    if (!block) return;
    const int index = size_class::of_request(bytes);
    const std::lock_guard guard(pinned_memory_lock());
    pool_.keep(index, block);
  }

  void trim() noexcept override {
    const std::lock_guard guard(pinned_memory_lock());
    trim_locked();
  }

  MemoryStats stats() const noexcept override {
    const std::lock_guard guard(pinned_memory_lock());
    return pool_.stats();
  }

  void reset_peak() noexcept override {
    const std::lock_guard guard(pinned_memory_lock());
    pool_.reset_peak();
  }

 private:
  // Tried again without what is free.
  void* make_block(size_t bytes) {
    const ContextScope scope(first_);
    void* block = nullptr;
    const auto take = [&] {
      const std::lock_guard gangs(gang_lock());
      return first_.driver().mem_host_alloc(&block, bytes, CU_MEMHOSTALLOC_PORTABLE);
    };
    CUresult result = take();
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      trim_locked();
      result = take();
    }
    check(result != CUDA_ERROR_OUT_OF_MEMORY, ErrorKind::kMemory,
          "cpu_pinned: out of memory: the system locks no further {} bytes, {} are in use. Copy less at once.", bytes,
          pool_.stats().live);
    first_.check(result, "cuMemHostAlloc");
    return block;
  }

  void trim_locked() noexcept {
    try {
      const ContextScope scope(first_);
      pool_.erase_free([this](void* block) {
        const std::lock_guard gangs(gang_lock());
        first_.note(first_.driver().mem_free_host(block), "cuMemFreeHost");
        return true;
      });
    } catch (const std::exception&) {  // the device is lost, and nothing can be given back
      return;
    }
  }

  CudaDevice& first_;
  BlockPool pool_{size_class::size};  // guarded by the lock
};

}  // namespace

std::mutex& pinned_memory_lock() {
  static std::mutex& instance = *new std::mutex;
  return instance;
}

Allocator& pinned_memory() {
  static PinnedMemory& instance = *new PinnedMemory(cuda_backend().device(0));  // arrays may outlive what could end it
  return instance;
}

}  // namespace headrace
