// A fair spin lock: threads enter in the order they came, so two pushing threads cannot starve each other. For
// sections of a few hundred instructions. Works with std::lock_guard.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/spin_lock.h"

namespace headrace {

class FairLock {
 public:
  void lock() noexcept {
    const uint32_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
    for (int tries = 0; serving_.load(std::memory_order_acquire) != ticket; ++tries) {
      if (tries < 256)
        cpu_pause();
      else
        sched_yield();  // the holder, or one before us, has lost its core
    }
  }
  void unlock() noexcept { serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  // In a forked child, instead of unlock(): threads that waited for their turn are gone.
  void reset() noexcept {
    next_.store(0, std::memory_order_relaxed);
    serving_.store(0, std::memory_order_release);
  }

 private:
  std::atomic<uint32_t> next_{0};
  std::atomic<uint32_t> serving_{0};
};

}  // namespace headrace
