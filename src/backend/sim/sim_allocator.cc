#include "backend/sim/sim_allocator.h"

#include <algorithm>
#include <new>

#include "backend/sim/protected_memory.h"
#include "base/check.h"
#include "device/await_room.h"

namespace headrace {
namespace {

constexpr std::align_val_t kAlignment{64};

// Zero bytes give a block too.
int class_of(size_t bytes) noexcept { return size_class::of(std::max<size_t>(bytes, 1)); }

}  // namespace

// As large as the alignment, which the block behind it keeps.
struct alignas(static_cast<size_t>(kAlignment)) SimAllocator::Header {
  uint64_t losses;  // when the block was handed out
};

SimAllocator::Header& SimAllocator::header(const void* block) noexcept {
  return static_cast<Header*>(const_cast<void*>(block))[-1];
}

void* SimAllocator::make_block(int64_t bytes) {
  if (memory_) return memory_->make(device_, static_cast<size_t>(bytes));
  return static_cast<Header*>(::operator new(sizeof(Header) + static_cast<size_t>(bytes), kAlignment)) + 1;
}

void SimAllocator::delete_block(void* block) noexcept {
  if (memory_) return memory_->remove(block);
  ::operator delete(&header(block), kAlignment);
}

SimAllocator::SimAllocator(Device device, int64_t capacity, ProtectedMemory* memory, std::function<void()> ask)
    : device_(device), memory_(memory), ask_(std::move(ask)), capacity_(capacity), trace_(device) {}

// Takes a free block or, where the device has room for it, possibly without the free ones of other classes, a new one.
void* SimAllocator::take(int index) {
  const auto bytes = static_cast<int64_t>(size_class::size(index));
  if (stats_.live + bytes > capacity_) return nullptr;
  void* block = nullptr;
  std::vector<void*>& free = free_[static_cast<size_t>(index)];
  if (!free.empty()) {
    block = free.back();
    free.pop_back();
    stats_.pooled -= bytes;
  } else {
    if (stats_.live + stats_.pooled + bytes > capacity_) trim_locked();
    block = make_block(bytes);
  }
  if (memory_) memory_->hand_out(block);
  header(block).losses = losses_.load(std::memory_order_relaxed);
  stats_.live += bytes;
  stats_.peak = std::max(stats_.peak, stats_.live);
  trace_.sample_change(stats_);
  return block;
}

void* SimAllocator::allocate(size_t bytes) {
  check(bytes <= size_class::kLargest, ErrorKind::kMemory, "{}: {} bytes cannot be addressed", to_string(device_),
        bytes);
  const int index = class_of(bytes);
  std::unique_lock guard(mutex_);
  void* block = take(index);
  if (!block && await_room(guard, released_, ask_, [&] { return (block = take(index)) != nullptr; })) return block;
  if (!block)
    fail(
        ErrorKind::kMemory,
        "{}: out of memory: {} bytes are needed, {} of {} bytes are in use. Free arrays, take smaller batches, or give "
        "the simulated GPU more (HEADRACE_SIM_MEMORY).",
        to_string(device_), size_class::size(index), stats_.live, capacity_);
  return block;
}

void SimAllocator::release(void* block, size_t bytes) noexcept {
  if (!block) return;
  const int index = class_of(bytes);
  const auto rounded = static_cast<int64_t>(size_class::size(index));
  if (memory_) memory_->take_back(block);
  {
    std::lock_guard guard(mutex_);
    if (has_lost(block)) return delete_block(block);
    free_[static_cast<size_t>(index)].push_back(block);
    stats_.live -= rounded;
    stats_.pooled += rounded;
    trace_.sample_change(stats_);
  }
  released_.notify_all();
}

void SimAllocator::trim_locked() noexcept {
  for (std::vector<void*>& blocks : free_) {
    for (void* block : blocks) delete_block(block);
    blocks.clear();
  }
  stats_.pooled = 0;
}

void SimAllocator::trim() noexcept {
  std::lock_guard guard(mutex_);
  trim_locked();
  trace_.sample(stats_);
}

MemoryStats SimAllocator::stats() const noexcept {
  std::lock_guard guard(mutex_);
  return stats_;
}

void SimAllocator::reset_peak() noexcept {
  std::lock_guard guard(mutex_);
  stats_.peak = stats_.live;
}

void SimAllocator::lose_contents() noexcept {
  std::lock_guard guard(mutex_);
  losses_.fetch_add(1, std::memory_order_release);
  stats_.live = 0;
  trace_.sample(stats_);
}

bool SimAllocator::has_lost(const void* block) const noexcept {
  return header(block).losses != losses_.load(std::memory_order_acquire);
}

int64_t SimAllocator::capacity() const noexcept {
  std::lock_guard guard(mutex_);
  return capacity_;
}

void SimAllocator::set_capacity(int64_t bytes) noexcept {
  std::lock_guard guard(mutex_);
  capacity_ = bytes;
}

}  // namespace headrace
