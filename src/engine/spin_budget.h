// How long a thread spins before it parks: as long as waking it up would take, which makes the total at most twice
// the best possible, and at least as long as a program takes to state its next operation. Measured once, by a thread
// that has nothing to do; any thread may read it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace headrace {

// Nanoseconds from the call that wakes a parked thread to the first thing that the thread does: the median of some
// rounds, which take a millisecond. Raises std::system_error when no thread can be started.
int64_t measure_wake_ns();

class SpinBudget {
 public:
  // `fixed_us` below zero: measure.
  explicit SpinBudget(int64_t fixed_us) noexcept;

  std::chrono::nanoseconds get() const noexcept {
    const int64_t wake = ns_.load(std::memory_order_relaxed);
    return std::chrono::nanoseconds(is_fixed_ ? wake : std::max(wake, kLeastSpinNs));
  }
  std::chrono::nanoseconds wake_cost() const noexcept {
    return std::chrono::nanoseconds(ns_.load(std::memory_order_relaxed));
  }
  // Measures if that has not been done. Takes a millisecond then, so only idle threads call it.
  void measure_once() noexcept;

 private:
  static constexpr int64_t kLeastNs = 5'000, kMostNs = 100'000, kUntilMeasuredNs = 50'000;
  static constexpr int64_t kLeastSpinNs = 20'000;

  const bool is_fixed_;
  std::atomic<int64_t> ns_;
  std::atomic<bool> measured_;
};

}  // namespace headrace
