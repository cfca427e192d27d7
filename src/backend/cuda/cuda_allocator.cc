#include "backend/cuda/cuda_allocator.h"

#include <algorithm>
#include <bit>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/gang_lock.h"
#include "base/check.h"
#include "base/config.h"
#include "device/await_room.h"

namespace headrace {
namespace {

// What vector loads and cuDNN want.
constexpr size_t kAlignment = 256;
constexpr size_t kSlabBytes = 4 << 20;
// Larger blocks would leave too much of a slab empty.
constexpr size_t kLargestInSlab = kSlabBytes / 8;

constexpr size_t aligned(size_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Taking memory is part of no graph, so it may be done while this thread captures one.
class OutsideOfCapture {
 public:
  explicit OutsideOfCapture(const CudaDriver& driver) noexcept : driver_(driver) { exchange(); }
  ~OutsideOfCapture() { exchange(); }
  OutsideOfCapture(const OutsideOfCapture&) = delete;
  OutsideOfCapture& operator=(const OutsideOfCapture&) = delete;

 private:
  void exchange() noexcept { static_cast<void>(driver_.thread_exchange_stream_capture_mode(&mode_)); }

  const CudaDriver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

int aligned_class_of(size_t bytes) noexcept { return size_class::of(aligned(std::max<size_t>(bytes, 1))); }

// What a block of the class takes.
size_t aligned_bytes_of(int index) noexcept { return aligned(size_class::size(index)); }

}  // namespace

CudaAllocator::CudaAllocator(CudaDevice& device)
    : device_(device),
      is_pooled_(kMemoryIsPooled && !config().memory_guard),
      pool_(aligned_bytes_of),
      trace_(device.device()) {}

CudaAllocator::~CudaAllocator() { trim(); }

void* CudaAllocator::allocate(size_t bytes) {
  check(bytes <= size_class::kLargest, ErrorKind::kMemory, "{}: {} bytes cannot be addressed",
        to_string(device_.device()), bytes);
  const int index = aligned_class_of(bytes);
  std::unique_lock guard(mutex_);
  void* block = take(index, bytes);
  if (!block)
    await_room(
        guard, released_, [this] { device_.notify(); }, [&] { return (block = take(index, bytes)) != nullptr; });
  check(block != nullptr, ErrorKind::kMemory,
        "{}: out of memory: {} bytes are needed, {} are in use by this process, and the device has {}. Free arrays, or "
        "take smaller batches.",
        to_string(device_.device()), pool_.bytes_of(index), pool_.stats().live, device_.memory_bytes());
  return block;
}

// A free block, or a new one; null where the device has no memory for it even without the free ones of other classes.
void* CudaAllocator::take(int index, size_t bytes) {
  void* block = pool_.take(index);
  if (!block) {
    block = make_block(index, bytes);
    if (!block && pool_.stats().pooled > 0) {
      trim_locked();
      block = make_block(index, bytes);
    }
    if (!block) return nullptr;
    pool_.count_new(index);
  }
  if (Slab* const slab = slab_of(block)) ++slab->live;
  trace_.sample_change(pool_.stats());
  return block;
}

void* CudaAllocator::make_block(int index, size_t bytes) {
  if (!is_pooled_) return make_memory(std::max<size_t>(bytes, 1));
  const size_t taken = aligned_bytes_of(index);
  if (taken > kLargestInSlab) return make_memory(taken);
  for (auto& [start, slab] : slabs_) {
    if (slab.used + taken > kSlabBytes) continue;
    slab.used += taken;
    return start + slab.used - taken;
  }
  auto* const start = static_cast<char*>(make_memory(kSlabBytes));
  if (!start) return nullptr;
  slabs_[start] = {.used = taken};
  return start;
}

void* CudaAllocator::make_memory(size_t bytes) {
  const ContextScope scope(device_);
  const std::lock_guard guard(gang_lock());
  const OutsideOfCapture outside(device_.driver());
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
    const std::lock_guard guard(gang_lock());
    const OutsideOfCapture outside(device_.driver());
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
    if (!is_pooled_) trim_locked();
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
