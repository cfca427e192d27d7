// Robust timing. Other work on the machine only ever makes things slower, so figures are medians of rounds.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace headrace::hardware {

inline constexpr double kSecondsPerNs = 1e-9;

// How long to measure: rounds of about this many seconds.
struct Effort {
  double seconds_per_round;
  int rounds;
  double total_seconds() const noexcept { return seconds_per_round * rounds; }
};

inline double seconds_since(uint64_t start_ns) noexcept {
  return static_cast<double>(steady_ns() - start_ns) * kSecondsPerNs;
}

// The value below which `share` of the values lie, between two values in proportion. `values` must not be empty, and
// `share` lies in [0, 1].
double percentile(std::vector<double> values, double share);
inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

// Seconds per item of run(items): the median of the rounds, each with as many items as its time needs.
template <class Run>
double seconds_per_item(const Effort& effort, Run run) {
  constexpr int64_t kMostItems = int64_t{1} << 40;
  int64_t items = 1;
  double seconds = 0;
  while (true) {
    const uint64_t start = steady_ns();
    run(items);
    seconds = seconds_since(start);
    if (seconds >= effort.seconds_per_round / 2 || items >= kMostItems) break;
    items *= seconds < effort.seconds_per_round / 32 ? 16 : 2;
  }
  std::vector<double> rounds{seconds / static_cast<double>(items)};
  while (static_cast<int>(rounds.size()) < effort.rounds) {
    const uint64_t start = steady_ns();
    run(items);
    rounds.push_back(seconds_since(start) / static_cast<double>(items));
  }
  return median(std::move(rounds));
}

// The seconds that each call of once() took: calls until the time of the effort is over, at least `least` and at most
// `most` of them.
template <class Once>
std::vector<double> sample(const Effort& effort, Once once, int least = 5, int most = 20'000) {
  std::vector<double> samples;
  const uint64_t begin = steady_ns();
  while (static_cast<int>(samples.size()) < least ||
         (static_cast<int>(samples.size()) < most && seconds_since(begin) < effort.total_seconds())) {
    const uint64_t start = steady_ns();
    once();
    samples.push_back(seconds_since(start));
  }
  return samples;
}

// The compiler must take `value` for changed: what computes it cannot be dropped, combined or vectorised.
inline void do_not_optimize(float& value) noexcept {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value));
#elif defined(__aarch64__)
  asm volatile("" : "+w"(value));
#else
  asm volatile("" : "+m"(value));
#endif
}
inline void do_not_optimize(uint64_t& value) noexcept { asm volatile("" : "+r"(value)); }

}  // namespace headrace::hardware
