#include "backend/sim/sim_allocator.h"

#include <algorithm>
#include <new>

#include "backend/sim/protected_memory.h"
#include "base/check.h"
#include "device/await_room.h"

namespace headrace {
namespace {

constexpr std::align_val_t kAlignment{64};

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
  const int64_t bytes = pool_.bytes_of(index);
  if (pool_.stats().live + bytes > capacity_) return nullptr;
  void* block = pool_.take(index);
  if (!block) {
    if (pool_.stats().live + pool_.stats().pooled + bytes > capacity_) trim_locked();
    block = make_block(bytes);
    pool_.count_new(index);
  }
  if (memory_) memory_->hand_out(block);
  header(block).losses = losses_.load(std::memory_order_relaxed);
  trace_.sample_change(pool_.stats());
  return block;
}

void* SimAllocator::allocate(size_t bytes) {
  check(bytes <= size_class::kLargest, ErrorKind::kMemory, "{}: {} bytes cannot be addressed", to_string(device_),
        bytes);
  const int index = size_class::of_request(bytes);
  std::unique_lock guard(mutex_);
  void* block = take(index);
  if (!block && await_room(guard, released_, ask_, [&] { return (block = take(index)) != nullptr; })) return block;
  if (!block)
    fail(
        ErrorKind::kMemory,
        "{}: out of memory: {} bytes are needed, {} of {} bytes are in use. Free arrays, take smaller batches, or give "
        "the simulated GPU more (HEADRACE_SIM_MEMORY).",
        to_string(device_), size_class::size(index), pool_.stats().live, capacity_);
  return block;
}

void SimAllocator::release(void* block, size_t bytes) noexcept {
  if (!block) return;
  const int index = size_class::of_request(bytes);
  if (memory_) memory_->take_back(block);
  {
    std::lock_guard guard(mutex_);
    if (has_lost(block)) return delete_block(block);
    pool_.keep(index, block);
    trace_.sample_change(pool_.stats());
  }
  released_.notify_all();
}

void SimAllocator::trim_locked() noexcept {
  pool_.erase_free([this](void* block) {
    delete_block(block);
    return true;
  });
}

void SimAllocator::trim() noexcept {
  std::lock_guard guard(mutex_);
  trim_locked();
  trace_.sample(pool_.stats());
}

MemoryStats SimAllocator::stats() const noexcept {
  std::lock_guard guard(mutex_);
  return pool_.stats();
}

void SimAllocator::reset_peak() noexcept {
  std::lock_guard guard(mutex_);
  pool_.reset_peak();
}

void SimAllocator::lose_contents() noexcept {
  std::lock_guard guard(mutex_);
  losses_.fetch_add(1, std::memory_order_release);
  pool_.forget_live();
  trace_.sample(pool_.stats());
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
