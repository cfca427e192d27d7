#include "backend/cpu/host_allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>

#include "backend/cpu/guarded_memory.h"
#include "base/check.h"
#include "base/config.h"
#include "base/machine.h"
#include "base/slab.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kArenaBytes = size_t{32} << 20;
constexpr size_t kLargestCarved = size_t{1} << 20;     // larger blocks are regions of their own
constexpr int64_t kLeastCounted = int64_t{256} << 20;  // smaller regions are not worth asking what is left
constexpr int kFirstRegionClass = size_class::of(kLargestCarved) + 1;
constexpr int kScratchReach = 2 << size_class::kStepsLog2;  // classes: scratch may have four times what it asks for

// Address space aligned to 2 MiB that asks for huge pages; null: the system gives nothing.
void* map_region(size_t bytes) noexcept {
  const size_t padded = bytes + kHugePage;
  void* mapped = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = (begin + kHugePage - 1) / kHugePage * kHugePage;
  if (aligned > begin) munmap(mapped, aligned - begin);
  const uintptr_t end = aligned + bytes, padded_end = begin + padded;
  if (padded_end > end) munmap(reinterpret_cast<void*>(end), padded_end - end);
  void* region = reinterpret_cast<void*>(aligned);
  madvise(region, bytes, MADV_HUGEPAGE);  // a wish: without huge pages everything works, only slower
  return region;
}

size_t region_bytes(int index) noexcept {
  constexpr size_t kPage = 4096;
  return (size_class::size(index) + kPage - 1) / kPage * kPage;
}

std::string size_text(double bytes) {
  constexpr double kMiB = 1 << 20, kGiB = 1 << 30;
  return bytes < kGiB ? fmt::format("{:.1f} MiB", bytes / kMiB) : fmt::format("{:.2f} GiB", bytes / kGiB);
}

}  // namespace

HostAllocator::HostAllocator()
    : is_guarded_(config().memory_guard),
      physical_bytes_(physical_memory()),
      watermark_(config().memory_watermark > 0 ? config().memory_watermark : physical_bytes_ / 2) {}

void* HostAllocator::allocate(size_t bytes) {
  bytes = std::max<size_t>(bytes, 1);
  if (bytes > static_cast<size_t>(physical_bytes_)) [[unlikely]]
    refuse(bytes);
  const int index = size_class::of(bytes);
  void* block = nullptr;
  if (is_guarded_) [[unlikely]] {
    block = guarded_allocate(bytes);
  } else if (!kMemoryIsPooled) {
    block = std::aligned_alloc(size_class::kGranule, size_class::size(index));
  } else if (bytes <= kSlabLargest) {
    block = slab_allocate(bytes);
  } else {
    block = take_free(index);
    if (!block) block = make_block(index);
  }
  if (!block) [[unlikely]]
    block = make_room_and_retry(bytes, index);
  count(static_cast<int64_t>(size_class::size(index)));
  return block;
}

// One block serves scratch of many sizes in turn; a block for each of them would only fill memory. So what does not
// find a block that is large enough takes the place of smaller ones. It is the larger one that is found from then on.
ScratchBlock HostAllocator::allocate_scratch(size_t bytes) {
  const int index = size_class::of_request(bytes);
  if (index < kFirstRegionClass || is_guarded_ || !kMemoryIsPooled) return {allocate(bytes), bytes};
  const int last = std::min(index + kScratchReach, size_class::kCount - 1);
  for (int candidate = index; candidate <= last; ++candidate) {
    void* const block = take_free(candidate);
    if (!block) continue;
    const size_t size = size_class::size(candidate);
    count(static_cast<int64_t>(size));
    return {block, size};
  }
  give_up_smaller_regions(index);
  return {allocate(bytes), bytes};
}

// As many bytes as a block of the class has, where there are so many free.
void HostAllocator::give_up_smaller_regions(int index) noexcept {
  size_t rest = size_class::size(index);
  for (int smaller = index - 1; smaller >= kFirstRegionClass && rest > 0; --smaller) {
    while (void* const block = rest > 0 ? take_free(smaller) : nullptr) {
      munmap(block, region_bytes(smaller));
      rest -= std::min(rest, size_class::size(smaller));
    }
  }
}

void HostAllocator::release(void* block, size_t bytes) noexcept {
  if (!block) return;
  bytes = std::max<size_t>(bytes, 1);
  const int index = size_class::of(bytes);
  const int64_t size = static_cast<int64_t>(size_class::size(index));
  count(-size);
  if (is_guarded_) [[unlikely]] {
    guarded_release(block, bytes);
  } else if (!kMemoryIsPooled) {
    std::free(block);
  } else if (bytes <= kSlabLargest) {
    slab_release(block, bytes);
  } else if (index >= kFirstRegionClass && pooled_.load(std::memory_order_relaxed) + size > watermark_) {
    munmap(block, region_bytes(index));
  } else {
    auto* node = static_cast<FreeBlock*>(block);
    FreeList& list = free_[static_cast<size_t>(index)];
    std::lock_guard guard(list.lock);
    node->next = list.head;
    list.head = node;
    pooled_.fetch_add(size, std::memory_order_relaxed);
  }
}

// The curve of the timeline has a sample at each step of the common count, so small blocks are free; the sample has
// what the threads have not yet reported, too, or what one allocates and another releases would take it below zero.
void HostAllocator::count(int64_t bytes) noexcept {
  if (counter_.add(bytes) && timeline::enabled(timeline::Source::kMemory)) [[unlikely]]
    trace_.sample_change(stats());
}

void* HostAllocator::take_free(int index) noexcept {
  FreeList& list = free_[static_cast<size_t>(index)];
  std::lock_guard guard(list.lock);
  FreeBlock* node = list.head;
  if (!node) return nullptr;
  list.head = node->next;
  pooled_.fetch_sub(static_cast<int64_t>(size_class::size(index)), std::memory_order_relaxed);
  return node;
}

void* HostAllocator::make_block(int index) noexcept {
  if (index < kFirstRegionClass) return carve(size_class::size(index));
  // The system promises more memory than there is, or than others leave; a process that believes it is killed when it
  // uses it.
  const int64_t size = static_cast<int64_t>(region_bytes(index));
  if (counter_.reported() + pooled_.load(std::memory_order_relaxed) + size > physical_bytes_) return nullptr;
  const int64_t missing = size < kLeastCounted ? 0 : size - available_memory();
  if (missing > 0 && missing > free_swap()) return nullptr;
  return map_region(region_bytes(index));
}

void* HostAllocator::carve(size_t bytes) noexcept {
  std::lock_guard guard(arena_lock_);
  if (static_cast<size_t>(arena_end_ - arena_next_) < bytes) {
    // The rest of the old arena, less than one block, stays unused; its pages were never touched.
    char* arena = static_cast<char*>(map_region(kArenaBytes));
    if (!arena) return nullptr;
    arena_next_ = arena;
    arena_end_ = arena + kArenaBytes;
  }
  char* block = arena_next_;
  arena_next_ += bytes;
  return block;
}

void* HostAllocator::make_room_and_retry(size_t bytes, int index) {
  trim();
  void* block = kMemoryIsPooled && !is_guarded_ ? make_block(index) : nullptr;
  if (!block) refuse(bytes);
  return block;
}

void HostAllocator::refuse(size_t bytes) const {
  const double live = static_cast<double>(counter_.live());
  const bool fits = live + static_cast<double>(bytes) < static_cast<double>(physical_bytes_);
  fail(
      ErrorKind::kMemory,
      "cpu: cannot allocate {}: {} are in use and the machine has {}{}. Use smaller arrays or a smaller batch, or drop "
      "arrays that are no longer needed.",
      size_text(static_cast<double>(bytes)), size_text(live), size_text(static_cast<double>(physical_bytes_)),
      fits ? ", of which others, or a limit of the process (ulimit -v), leave no more" : "");
}

void HostAllocator::trim() noexcept {
  for (int index = kFirstRegionClass; index < size_class::kCount; ++index) {
    while (void* block = take_free(index)) munmap(block, region_bytes(index));
  }
}

MemoryStats HostAllocator::stats() const noexcept {
  return {counter_.live(), counter_.peak(), pooled_.load(std::memory_order_relaxed)};
}

void HostAllocator::lock_for_fork() noexcept {
  for (FreeList& list : free_) list.lock.lock();
  arena_lock_.lock();
  counter_.lock_for_fork();
}

void HostAllocator::unlock_after_fork() noexcept {
  counter_.unlock_after_fork();
  arena_lock_.unlock();
  for (FreeList& list : free_) list.lock.unlock();
}

HostAllocator& host_allocator() {
  static HostAllocator& instance = *new HostAllocator();
  return instance;
}

}  // namespace headrace
