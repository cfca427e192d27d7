// Live and peak bytes of an allocator. Each thread counts for itself and reports to the common count now and then, so
// a small block costs no shared write. `live` is exact whenever no allocation is running; `peak` is exact for one
// thread and may miss up to kReportBytes for each further one.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/spin_lock.h"

namespace headrace {

class MemoryCounter {
 public:
  static constexpr int64_t kReportBytes = 64 * 1024;

  // Whether the common count, and with it reported(), has changed.
  bool add(int64_t bytes) noexcept {
    ThreadCount& own = current();
    const int64_t unreported = own.unreported.load(std::memory_order_relaxed) + bytes;
    own.unreported.store(unreported, std::memory_order_relaxed);
    if (unreported > own.highest.load(std::memory_order_relaxed))
      own.highest.store(unreported, std::memory_order_relaxed);
    if (unreported < kReportBytes && unreported > -kReportBytes) [[likely]]
      return false;
    report(own);
    return true;
  }

  // Never negative.
  int64_t live() const noexcept;
  // Of what has been reported: at most kReportBytes off for each thread, without visiting the threads.
  int64_t reported() const noexcept { return reported_.load(std::memory_order_relaxed); }
  int64_t peak() const noexcept;
  void reset_peak() noexcept;

  void lock_for_fork() noexcept { lock_.lock(); }
  void unlock_after_fork() noexcept { lock_.unlock(); }

 private:
  // Written by one thread at a time; taken over by a later thread when that one has ended.
  struct alignas(64) ThreadCount {
    std::atomic<int64_t> unreported{0};
    std::atomic<int64_t> highest{0};  // of `unreported`, since the last report
    bool in_use = true;               // guarded by lock_
  };
  struct AtThreadExit;

  // One counter per process: it is part of the one host allocator.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit ThreadCount* own_count_;

  ThreadCount& current() noexcept { return own_count_ ? *own_count_ : enter(); }
  ThreadCount& enter() noexcept;
  void report(ThreadCount& own) noexcept;
  void raise_peak(int64_t candidate) noexcept;

  alignas(64) std::atomic<int64_t> reported_{0};
  std::atomic<int64_t> peak_{0};
  mutable SpinLock lock_;
  std::vector<ThreadCount*> counts_;  // guarded by lock_; never shrinks
};

}  // namespace headrace
