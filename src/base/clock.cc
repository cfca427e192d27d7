#include "base/clock.h"

#include <chrono>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace headrace {
namespace {

bool has_steady_counter() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kInvariant = 1u << 8;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & kInvariant);
#else
  return false;
#endif
}

}  // namespace

// Initialised before `kStart`, which reads it.
const bool detail::counter_is_steady = has_steady_counter();

namespace {

struct Moment {
  uint64_t tick, ns;
};

// Both clocks as close together as a few tries allow.
Moment moment() noexcept {
  Moment best{};
  uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = ticks(), ns = steady_ns(), after = ticks();
    if (after - before < narrowest) {
      narrowest = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

const Moment kStart = moment();

}  // namespace

uint64_t steady_ns() noexcept {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

TickScale::TickScale() {
  constexpr uint64_t kLeastNs = 2'000'000;
  Moment now = moment();
  while (now.ns - kStart.ns < kLeastNs) now = moment();
  tick_origin_ = kStart.tick;
  ns_origin_ = kStart.ns;
  ns_per_tick_ = static_cast<double>(now.ns - kStart.ns) / static_cast<double>(now.tick - kStart.tick);
}

double TickScale::to_ns(uint64_t stamp) const noexcept {
  const double ticks_since = static_cast<double>(static_cast<int64_t>(stamp - tick_origin_));
  return static_cast<double>(ns_origin_) + ticks_since * ns_per_tick_;
}

}  // namespace headrace
