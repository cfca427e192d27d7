// Cheap time stamps: the processor's counter where it runs at a constant rate, steady_clock elsewhere. Stamps of
// different threads are comparable. Any thread may call any function.
#pragma once

#include <cstdint>

namespace headrace {

uint64_t steady_ns() noexcept;

namespace detail {
extern const bool counter_is_steady;
}

inline uint64_t ticks() noexcept {
#if defined(__x86_64__)
  if (detail::counter_is_steady) [[likely]]
    return __builtin_ia32_rdtsc();
#endif
  return steady_ns();
}

// Turns stamps into nanoseconds of steady_clock. Measures the rate between two calls; making one costs up to 2 ms.
class TickScale {
 public:
  TickScale();
  double to_ns(uint64_t stamp) const noexcept;

 private:
  uint64_t tick_origin_, ns_origin_;
  double ns_per_tick_;
};

}  // namespace headrace
