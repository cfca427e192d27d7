// Parking on a 32-bit word (Linux futex, private to the process). Wake-ups may be spurious: callers loop.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace headrace {

// Sleeps while `word` holds `expected`, for at most `limit` when one is given.
inline void futex_wait(std::atomic<uint32_t>& word, uint32_t expected,
                       std::chrono::nanoseconds limit = std::chrono::nanoseconds::max()) noexcept {
  timespec relative{};
  const bool forever = limit == std::chrono::nanoseconds::max();
  if (!forever) {
    if (limit.count() <= 0) return;
    relative.tv_sec = static_cast<time_t>(limit.count() / 1'000'000'000);
    relative.tv_nsec = static_cast<long>(limit.count() % 1'000'000'000);
  }
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, forever ? nullptr : &relative,
          nullptr, 0);
}

inline void futex_wake(std::atomic<uint32_t>& word, int threads) noexcept {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

inline void futex_wake_all(std::atomic<uint32_t>& word) noexcept { futex_wake(word, INT_MAX); }

}  // namespace headrace
