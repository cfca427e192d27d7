// Draws from philox, the digits of ops/random/philox_fill.cc: elements come in groups, whose words are those of 16
// counters side by side, word w of counter l being number 16 * w + l.
#pragma once

#include <cstdint>

namespace headrace::device {

constexpr int kCounterBytes = 16;  // of the words that one counter gives

struct VariateArguments {
  void* to;
  int64_t count;
  uint64_t key;
  double offset, factor;
};

// Flags are 1 where the upper 24 bits of an element's word are below the limit.
struct FlagArguments {
  void* to;
  int64_t count;
  uint64_t key;
  int64_t limit;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <bit>
#include <cmath>

#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"
#include "ops/random/stream.cuh"

namespace headrace::device {

constexpr int kCounters = 16;

// In [0, 1): 24 bits of one word for a float, 53 bits of two for a double. `which` of those of a counter.
inline float uniform(const Words& words, int which, float) {
  return static_cast<float>(words.values[which] >> 8) * (1.0f / 16777216.0f);
}
inline double uniform(const Words& words, int which, double) {
  return (static_cast<double>(words.values[2 * which] >> 5) * 67108864.0 +
          static_cast<double>(words.values[2 * which + 1] >> 6)) *
         (1.0 / 9007199254740992.0);
}

template <class Real>
constexpr int kRows = kCounterBytes / sizeof(Real);  // elements of a counter, kCounters apart

// Calls f(words, first element) for each counter.
template <class Real, class F>
inline void for_each_counter(uint64_t key, int64_t count, const F& f) {
  constexpr int kPerGroup = kCounters * kRows<Real>;
  const int64_t counters = (count + kPerGroup - 1) / kPerGroup * kCounters;
  for (int64_t c = first_of_thread(); c < counters; c += all_threads())
    f(words_of(key, c, 0), c / kCounters * kPerGroup + c % kCounters);
}

template <class Real, class Out, bool kNormal>
inline void draw_variates(const VariateArguments& a) {
  const auto offset = static_cast<Real>(a.offset), factor = static_cast<Real>(a.factor);
  for_each_counter<Real>(a.key, a.count, [&](const Words& words, int64_t first) {
    Real values[kRows<Real>];
    for (int row = 0; row < kRows<Real>; ++row) values[row] = uniform(words, row, Real{});
    if constexpr (kNormal) {  // Box and Muller
      for (int row = 0; row < kRows<Real>; row += 2) {
        const Real radius = std::sqrt(Real{-2} * std::log(Real{1} - values[row]));
        const Real angle =
            static_cast<Real>(6.283185307179586476925286766559) * (values[row + 1] - static_cast<Real>(0.5));
        values[row] = radius * std::cos(angle);
        values[row + 1] = radius * std::sin(angle);
      }
    }
    for (int row = 0; row < kRows<Real>; ++row)
      if (const int64_t i = first + row * kCounters; i < a.count)
        static_cast<Out*>(a.to)[i] = numeric_cast<Out>(offset + factor * values[row]);
  });
}

inline void draw_flags(const FlagArguments& a) {
  for_each_counter<float>(a.key, a.count, [&](const Words& words, int64_t first) {
    for (int row = 0; row < kRows<float>; ++row)
      if (const int64_t i = first + row * kCounters; i < a.count)
        static_cast<uint8_t*>(a.to)[i] = static_cast<int64_t>(words.values[row] >> 8) < a.limit ? 1 : 0;
  });
}

}  // namespace headrace::device
#endif
