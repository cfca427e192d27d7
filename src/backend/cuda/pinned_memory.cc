#include "backend/cuda/pinned_memory.h"

#include <atomic>
#include <mutex>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_device.h"
#include "backend/cuda/gang_lock.h"
#include "base/check.h"
#include "device/block_pool.h"

namespace headrace {
namespace {

// Blocks are the same to all devices; the context of one asks for them.
class PinnedMemory final : public Allocator {
 public:
  explicit PinnedMemory(CudaDevice& device) : device_(device) {}

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
    const ContextScope scope(device_);
    void* block = nullptr;
    const auto take = [&] {
      const std::lock_guard gangs(gang_lock());
      return device_.driver().mem_host_alloc(&block, bytes, CU_MEMHOSTALLOC_PORTABLE);
    };
    CUresult result = take();
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      trim_locked();
      result = take();
    }
    check(result != CUDA_ERROR_OUT_OF_MEMORY, ErrorKind::kMemory,
          "cpu_pinned: out of memory: the system locks no further {} bytes, {} are in use. Copy less at once.", bytes,
          pool_.stats().live);
    device_.check(result, "cuMemHostAlloc");
    return block;
  }

  void trim_locked() noexcept {
    try {
      const ContextScope scope(device_);
      pool_.erase_free([this](void* block) {
        const std::lock_guard gangs(gang_lock());
        device_.note(device_.driver().mem_free_host(block), "cuMemFreeHost");
        return true;
      });
    } catch (const std::exception&) {  // the device is lost, and nothing can be given back
      return;
    }
  }

  CudaDevice& device_;
  BlockPool pool_{size_class::size};  // guarded by the lock
};

}  // namespace

std::mutex& pinned_memory_lock() {
  static std::mutex& instance = *new std::mutex;
  return instance;
}

namespace {
std::atomic<Allocator*>& made_memory() noexcept {
  static std::atomic<Allocator*> made{nullptr};
  return made;
}
}  // namespace

Allocator& pinned_memory() {
  static PinnedMemory& instance = []() -> PinnedMemory& {  // arrays may outlive what could end it
    auto* const made = new PinnedMemory(cuda_backend().device_in_use());
    made_memory().store(made, std::memory_order_release);
    return *made;
  }();
  return instance;
}

Allocator* pinned_memory_in_use() noexcept { return made_memory().load(std::memory_order_acquire); }

}  // namespace headrace
