#include "backend/cuda/cuda_allocator.h"

#include <algorithm>
#include <bit>

#include "backend/cuda/cuda_device.h"
#include "base/check.h"
#include "device/await_room.h"

namespace headrace {
namespace {

// What vector loads and cuDNN want.
constexpr size_t kAlignment = 256;
constexpr size_t kSlabBytes = 4 << 20;
// Larger blocks would leave too much of a slab empty.
constexpr size_t kLargestInSlab = kSlabBytes / 8;

constexpr size_t aligned(size_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int aligned_class_of(size_t bytes) noexcept { return size_class::of(aligned(std::max<size_t>(bytes, 1))); }

// What a block of the class takes.
size_t aligned_bytes_of(int index) noexcept { return aligned(size_class::size(index)); }

}  // namespace

CudaAllocator::CudaAllocator(CudaDevice& device) : device_(device), pool_(aligned_bytes_of), trace_(device.device()) {}

CudaAllocator::~CudaAllocator() { trim(); }

void* CudaAllocator::allocate(size_t bytes) {
  check(bytes <= size_class::kLargest, ErrorKind::kMemory, "{}: {} bytes cannot be addressed",
        to_string(device_.device()), bytes);
  const int index = aligned_class_of(bytes);
  std::unique_lock guard(mutex_);
  void* block = take(index);
  if (!block)
    await_room(
        guard, released_, [this] { device_.notify(); }, [&] { return (block = take(index)) != nullptr; });
  check(block != nullptr, ErrorKind::kMemory,
        "{}: out of memory: {} bytes are needed, {} are in use by this process, and the device has {}. Free arrays, or "
        "take smaller batches.",
        to_string(device_.device()), pool_.bytes_of(index), pool_.stats().live, device_.memory_bytes());
  return block;
}

// A free block, or a new one; null where the device has no memory for it even without the free ones of other classes.
void* CudaAllocator::take(int index) {
  void* block = pool_.take(index);
  if (!block) {
    block = make_block(index);
    if (!block && pool_.stats().pooled > 0) {
      trim_locked();
      block = make_block(index);
    }
    if (!block) return nullptr;
    pool_.count_new(index);
  }
  if (Slab* const slab = slab_of(block)) ++slab->live;
  trace_.sample_change(pool_.stats());
  return block;
}

void* CudaAllocator::make_block(int index) {
  const size_t bytes = aligned_bytes_of(index);
  if (bytes > kLargestInSlab) return make_memory(bytes);
  for (auto& [start, slab] : slabs_) {
    if (slab.used + bytes > kSlabBytes) continue;
    slab.used += bytes;
    return start + slab.used - bytes;
  }
  auto* const start = static_cast<char*>(make_memory(kSlabBytes));
  if (!start) return nullptr;
  slabs_[start] = {.used = bytes};
  return start;
}

void* CudaAllocator::make_memory(size_t bytes) {
  const ContextScope scope(device_);
  CUdeviceptr memory = 0;
  const CUresult result = device_.driver().mem_alloc(&memory, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
  device_.check(result, "cuMemAlloc");
  return std::bit_cast<void*>(memory);
}

// Of a lost device nothing can be given back.
void CudaAllocator::free_memory(void* memory) noexcept {
  try {
    const ContextScope scope(device_);
    device_.note(device_.driver().mem_free(reinterpret_cast<CUdeviceptr>(memory)), "cuMemFree");
  } catch (const std::exception&) {
    return;
  }
}

CudaAllocator::Slab* CudaAllocator::slab_of(const void* block) noexcept {
  auto after = slabs_.upper_bound(static_cast<char*>(const_cast<void*>(block)));
  if (after == slabs_.begin()) return nullptr;
  --after;
  return static_cast<const char*>(block) < after->first + kSlabBytes ? &after->second : nullptr;
}

void CudaAllocator::release(void* block, size_t bytes) noexcept {
  if (!block) return;
  const int index = aligned_class_of(bytes);
  {
    const std::lock_guard guard(mutex_);
    if (Slab* const slab = slab_of(block)) --slab->live;
    pool_.keep(index, block);
    trace_.sample_change(pool_.stats());
  }
  released_.notify_all();
}

// Slabs go when no block of theirs is in use.
void CudaAllocator::trim_locked() noexcept {
  pool_.erase_free([&](void* block) {
    const Slab* const slab = slab_of(block);
    if (slab && slab->live > 0) return false;
    if (!slab) free_memory(block);
    return true;
  });
  std::erase_if(slabs_, [&](auto& entry) {
    if (entry.second.live > 0) return false;
    free_memory(entry.first);
    return true;
  });
}

void CudaAllocator::trim() noexcept {
  const std::lock_guard guard(mutex_);
  trim_locked();
  trace_.sample(pool_.stats());
}

MemoryStats CudaAllocator::stats() const noexcept {
  const std::lock_guard guard(mutex_);
  return pool_.stats();
}

void CudaAllocator::reset_peak() noexcept {
  const std::lock_guard guard(mutex_);
  pool_.reset_peak();
}

}  // namespace headrace
