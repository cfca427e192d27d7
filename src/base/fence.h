// An asymmetric fence: the frequent side pays nothing, the rare side pays for both. After light_fence() in one thread
// and heavy_fence() in another, at least one of the two sees what the other stored before its fence (Dekker's
// pattern). Uses membarrier(2); where that is missing, and under ThreadSanitizer, both sides use full fences.
#pragma once

#include <atomic>

namespace headrace {

namespace detail {
extern std::atomic<bool> fence_is_asymmetric;
void full_fence() noexcept;
}  // namespace detail

// A sequentially consistent fence in both senses; a few nanoseconds.
inline void full_fence() noexcept {
#if defined(__SANITIZE_THREAD__)
  detail::full_fence();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

inline void light_fence() noexcept {
  if (detail::fence_is_asymmetric.load(std::memory_order_relaxed)) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    full_fence();
  }
}

void heavy_fence() noexcept;  // microseconds: interrupts the process's other running threads

}  // namespace headrace
