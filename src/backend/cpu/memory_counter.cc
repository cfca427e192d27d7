#include "backend/cpu/memory_counter.h"

#include <algorithm>
#include <mutex>

namespace headrace {

thread_local constinit MemoryCounter::ThreadCount* MemoryCounter::own_count_ = nullptr;

struct MemoryCounter::AtThreadExit {
  MemoryCounter* counter;
  ~AtThreadExit() {
    std::lock_guard guard(counter->lock_);
    if (own_count_) own_count_->in_use = false;
    own_count_ = nullptr;
  }
};

MemoryCounter::ThreadCount& MemoryCounter::enter() noexcept {
  {
    std::lock_guard guard(lock_);
    const auto unused = std::ranges::find(counts_, false, &ThreadCount::in_use);
    if (unused != counts_.end()) {
      own_count_ = *unused;
      own_count_->in_use = true;
    } else {
      own_count_ = counts_.emplace_back(new ThreadCount());
    }
  }
  thread_local AtThreadExit at_exit{this};
  static_cast<void>(at_exit);
  return *own_count_;
}

void MemoryCounter::raise_peak(int64_t candidate) noexcept {
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (candidate > peak && !peak_.compare_exchange_weak(peak, candidate, std::memory_order_relaxed)) {
  }
}

void MemoryCounter::report(ThreadCount& own) noexcept {
  const int64_t unreported = own.unreported.load(std::memory_order_relaxed);
  const int64_t before = reported_.fetch_add(unreported, std::memory_order_relaxed);
  raise_peak(before + own.highest.load(std::memory_order_relaxed));
  own.unreported.store(0, std::memory_order_relaxed);
  own.highest.store(0, std::memory_order_relaxed);
}

int64_t MemoryCounter::live() const noexcept {
  std::lock_guard guard(lock_);
  int64_t live = reported_.load(std::memory_order_relaxed);
  for (const ThreadCount* count : counts_) live += count->unreported.load(std::memory_order_relaxed);
  return std::max<int64_t>(live, 0);  // a thread may be seen to release what another was not yet seen to allocate
}

int64_t MemoryCounter::peak() const noexcept {
  int64_t peak = std::max(peak_.load(std::memory_order_relaxed), live());
  std::lock_guard guard(lock_);
  int64_t unreported = 0;
  for (const ThreadCount* count : counts_) unreported += count->unreported.load(std::memory_order_relaxed);
  const int64_t reported = reported_.load(std::memory_order_relaxed);
  for (const ThreadCount* count : counts_) {
    const int64_t others = unreported - count->unreported.load(std::memory_order_relaxed);
    peak = std::max(peak, reported + others + count->highest.load(std::memory_order_relaxed));
  }
  return peak;
}

void MemoryCounter::reset_peak() noexcept {
  const int64_t now = live();
  std::lock_guard guard(lock_);
  for (ThreadCount* count : counts_) count->highest.store(count->unreported.load(std::memory_order_relaxed));
  peak_.store(now, std::memory_order_relaxed);
}

}  // namespace headrace
