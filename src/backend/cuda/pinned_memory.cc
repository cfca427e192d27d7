#include "backend/cuda/pinned_memory.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_device.h"
#include "base/check.h"
#include "device/size_class.h"

namespace headrace {
namespace {

int pinned_class_of(size_t bytes) noexcept { return size_class::of(std::max<size_t>(bytes, 1)); }

// Blocks are the same to all devices; the context of the first asks for them.
class PinnedMemory final : public Allocator {
 public:
  explicit PinnedMemory(CudaDevice& first) : first_(first) {}

  void* allocate(size_t bytes) override {
    check(bytes <= size_class::kLargest, ErrorKind::kMemory, "cpu_pinned: {} bytes cannot be addressed", bytes);
    const int index = pinned_class_of(bytes);
    const size_t rounded = size_class::size(index);
    const std::lock_guard guard(pinned_memory_lock());
    std::vector<void*>& free = free_[static_cast<size_t>(index)];
    if (free.empty()) {
      free.push_back(make_block(rounded));
      stats_.pooled += static_cast<int64_t>(rounded);
    }
    void* const block = free.back();
    free.pop_back();
    stats_.pooled -= static_cast<int64_t>(rounded);
    stats_.live += static_cast<int64_t>(rounded);
    stats_.peak = std::max(stats_.peak, stats_.live);
    return block;
  }

  void release(void* block, size_t bytes) noexcept override {
    if (!block) return;
    const int index = pinned_class_of(bytes);
    const auto rounded = static_cast<int64_t>(size_class::size(index));
    const std::lock_guard guard(pinned_memory_lock());
    free_[static_cast<size_t>(index)].push_back(block);
    stats_.live -= rounded;
    stats_.pooled += rounded;
  }

  void trim() noexcept override {
    const std::lock_guard guard(pinned_memory_lock());
    trim_locked();
  }

  MemoryStats stats() const noexcept override {
    const std::lock_guard guard(pinned_memory_lock());
    return stats_;
  }

  void reset_peak() noexcept override {
    const std::lock_guard guard(pinned_memory_lock());
    stats_.peak = stats_.live;
  }

 private:
  // Tried again without what is free.
  void* make_block(size_t bytes) {
    const ContextScope scope(first_);
    void* block = nullptr;
    const auto take = [&] { return first_.driver().mem_host_alloc(&block, bytes, CU_MEMHOSTALLOC_PORTABLE); };
    CUresult result = take();
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      trim_locked();
      result = take();
    }
    check(result != CUDA_ERROR_OUT_OF_MEMORY, ErrorKind::kMemory,
          "cpu_pinned: out of memory: the system locks no further {} bytes, {} are in use. Copy less at once.", bytes,
          stats_.live);
    first_.check(result, "cuMemHostAlloc");
    return block;
  }

  void trim_locked() noexcept {
    try {
      const ContextScope scope(first_);
      for (std::vector<void*>& blocks : free_) {
        for (void* block : blocks) first_.note(first_.driver().mem_free_host(block), "cuMemFreeHost");
        blocks.clear();
      }
      stats_.pooled = 0;
    } catch (const std::exception&) {  // the device is lost, and nothing can be given back
      return;
    }
  }

  CudaDevice& first_;
  std::array<std::vector<void*>, size_class::kCount> free_;  // guarded by the lock, as what follows
  MemoryStats stats_;
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
