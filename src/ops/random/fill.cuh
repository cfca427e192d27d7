// Draws from philox, the digits of ops/random/philox_fill.cc: elements come in groups, whose words are those of 16
// counters side by side, word w of counter l being number 16 * w + l.
#pragma once

#include <cstdint>

namespace headrace::device {

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
constexpr int kPerGroup = 4 * kCounters * 4 / static_cast<int>(sizeof(Real));

template <class Real, class Out, bool kNormal>
inline void draw_variates(const VariateArguments& a) {
  const auto offset = static_cast<Real>(a.offset), factor = static_cast<Real>(a.factor);
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const auto place = static_cast<int>(i % kPerGroup<Real>);
    const Words words = words_of(a.key, i / kPerGroup<Real> * kCounters + place % kCounters, 0);
    const int row = place / kCounters;
    Real value = uniform(words, row, Real{});
    if constexpr (kNormal) {  // Box and Muller: rows in pairs
      const Real first = uniform(words, row / 2 * 2, Real{}), second = uniform(words, row / 2 * 2 + 1, Real{});
      const Real radius = std::sqrt(Real{-2} * std::log(Real{1} - first));
      const Real angle = static_cast<Real>(6.283185307179586476925286766559) * (second - static_cast<Real>(0.5));
      value = radius * (row % 2 == 0 ? std::cos(angle) : std::sin(angle));
    }
    static_cast<Out*>(a.to)[i] = numeric_cast<Out>(offset + factor * value);
  }
}

inline void draw_flags(const FlagArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const auto place = static_cast<int>(i % kPerGroup<float>);
    const Words words = words_of(a.key, i / kPerGroup<float> * kCounters + place % kCounters, 0);
    static_cast<uint8_t*>(a.to)[i] = static_cast<int64_t>(words.values[place / kCounters] >> 8) < a.limit ? 1 : 0;
  }
}

}  // namespace headrace::device
#endif
