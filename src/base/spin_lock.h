// A lock of one byte for sections of a few instructions; not recursive, not fair. Works with std::lock_guard.
#pragma once

#include <sched.h>

#include <atomic>

namespace headrace {

inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class SpinLock {
 public:
  void lock() noexcept {
    for (int tries = 0; locked_.exchange(true, std::memory_order_acquire); ++tries) {
      // The holder may have lost its core: give it the chance to come back.
      for (int i = 0; i < 64 && locked_.load(std::memory_order_relaxed); ++i) cpu_pause();
      if (tries >= 8) sched_yield();
    }
  }
  bool try_lock() noexcept {
    return !locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

}  // namespace headrace
