#include "engine/spin_budget.h"

#include <algorithm>
#include <array>
#include <thread>

#include "base/clock.h"
#include "base/futex.h"

namespace headrace {
namespace {

constexpr int kRounds = 15;

}  // namespace

int64_t measure_wake_ns() {
  std::atomic<uint32_t> word{0};
  std::atomic<uint64_t> woken_at{0};
  std::thread sleeper([&] {
    for (uint32_t round = 0; round < kRounds; ++round) {
      while (word.load(std::memory_order_acquire) <= round) futex_wait(word, round);
      woken_at.store(steady_ns(), std::memory_order_release);
    }
  });
  std::array<int64_t, kRounds> times;
  for (int64_t& time : times) {
    std::this_thread::sleep_for(std::chrono::microseconds(60));  // until the sleeper sleeps
    woken_at.store(0, std::memory_order_relaxed);
    const uint64_t start = steady_ns();
    word.fetch_add(1, std::memory_order_release);
    futex_wake(word, 1);
    uint64_t end = 0;
    while (!(end = woken_at.load(std::memory_order_acquire))) std::this_thread::yield();
    time = static_cast<int64_t>(end - start);
  }
  sleeper.join();
  std::ranges::nth_element(times, times.begin() + kRounds / 2);
  return times[kRounds / 2];
}

SpinBudget::SpinBudget(int64_t fixed_us) noexcept
    : is_fixed_(fixed_us >= 0), ns_(is_fixed_ ? fixed_us * 1000 : kUntilMeasuredNs), measured_(is_fixed_) {}

void SpinBudget::measure_once() noexcept {
  if (measured_.load(std::memory_order_relaxed) || measured_.exchange(true)) return;
  try {
    ns_.store(std::clamp(measure_wake_ns(), kLeastNs, kMostNs), std::memory_order_relaxed);
  } catch (...) {  // no thread could be started: the default stays
  }
}

}  // namespace headrace
