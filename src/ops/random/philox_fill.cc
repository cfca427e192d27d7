#include "ops/random/philox_fill.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "op/simd/targets.h"
#include "ops/random/philox.h"

// A group is 16 counters side by side: 64 words, that is 64 floats or 32 doubles. Word w of counter l stands at
// words[w][l], whatever the vector width, so the order of elements is the same on every machine.
#ifndef HEADRACE_OPS_RANDOM_PHILOX_FILL_
#define HEADRACE_OPS_RANDOM_PHILOX_FILL_
namespace headrace {

inline constexpr size_t kCounters = 16;
using PhiloxGroup = uint32_t[4][kCounters];

// Groups that are made at once.
inline constexpr size_t kGroups = 3;
using PhiloxGroups = PhiloxGroup[kGroups];
static_assert(kPhiloxBlocks == kGroups * kCounters);

template <class Real>
inline constexpr size_t kPerGroup = sizeof(PhiloxGroup) / sizeof(Real);

}  // namespace headrace
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/random/philox_fill.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

// What the rounds of one key add to the counters.
struct RoundKeys {
  explicit RoundKeys(uint64_t of) : key(of) {
    auto low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < Philox::kRounds; ++round, low += Philox::kWeyl0, high += Philox::kWeyl1) {
      first[round] = low;
      second[round] = high;
    }
  }
  uint64_t key, first[Philox::kRounds], second[Philox::kRounds];
};

#if HWY_TARGET == HWY_SCALAR

inline void blocks(uint64_t key, uint64_t first, uint64_t block, uint32_t* words) {
  for (uint64_t i = 0; i < kPhiloxBlocks; ++i) std::ranges::copy(Philox::block(key, first + i, block), words + 4 * i);
}

inline void make_groups(const RoundKeys& keys, uint64_t group, PhiloxGroups& groups) {
  for (uint64_t i = 0; i < kGroups * kCounters; ++i) {
    const std::array<uint32_t, 4> block = Philox::block(keys.key, group * kCounters + i, 0);
    for (size_t w = 0; w < 4; ++w) groups[i / kCounters][w][i % kCounters] = block[w];
  }
}

#else

// Vectors of counters that are mixed at once, so that one hides the latency of another: as many as registers hold.
constexpr size_t kAtOnce = HWY_TARGET <= HWY_AVX3 ? 3 : 1;

// The words of kAtOnce vectors of counters, whose low halves go on from `counter`, below `high`. Each vector is two of
// 64-bit lanes: those of even and those of odd counters, whose words are multiplied where they are, in the low halves;
// the high halves are junk.
template <class D>
HWY_INLINE void mix(D d, const RoundKeys& keys, uint64_t counter, uint32_t high, hn::Vec<D> (&words)[kAtOnce][4]) {
  const hn::RepartitionToWide<D> wide;
  using W = hn::Vec<decltype(wide)>;
  const auto m0 = hn::Set(d, Philox::kMultiplier0), m1 = hn::Set(d, Philox::kMultiplier1);
  W c0[2 * kAtOnce], c1[2 * kAtOnce], c2[2 * kAtOnce], c3[2 * kAtOnce];
  for (size_t v = 0; v < kAtOnce; ++v) {
    // The counters of a vector differ in their low words only: it begins at a multiple of its lanes.
    const uint64_t first = counter + v * hn::Lanes(d);
    c0[2 * v] = hn::BitCast(wide, hn::Iota(d, static_cast<uint32_t>(first)));
    c0[2 * v + 1] = hn::ShiftRight<32>(c0[2 * v]);
    c1[2 * v] = c1[2 * v + 1] = hn::Set(wide, first >> 32);
    c2[2 * v] = c2[2 * v + 1] = hn::Set(wide, high);
    c3[2 * v] = c3[2 * v + 1] = hn::Zero(wide);
  }
  for (int round = 0; round < Philox::kRounds; ++round) {
    const W k0 = hn::Set(wide, keys.first[round]), k1 = hn::Set(wide, keys.second[round]);
    for (size_t v = 0; v < 2 * kAtOnce; ++v) {
      const W p0 = hn::MulEven(hn::BitCast(d, c0[v]), m0), p1 = hn::MulEven(hn::BitCast(d, c2[v]), m1);
      c0[v] = hn::Xor3(hn::ShiftRight<32>(p1), c1[v], k0);
      c2[v] = hn::Xor3(hn::ShiftRight<32>(p0), c3[v], k1);
      c1[v] = p1;
      c3[v] = p0;
    }
  }
  const auto in_turns = [d](W even, W odd) HWY_ATTR {
    return hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
  };
  for (size_t v = 0; v < kAtOnce; ++v) {
    words[v][0] = in_turns(c0[2 * v], c0[2 * v + 1]);
    words[v][1] = in_turns(c1[2 * v], c1[2 * v + 1]);
    words[v][2] = in_turns(c2[2 * v], c2[2 * v + 1]);
    words[v][3] = in_turns(c3[2 * v], c3[2 * v + 1]);
  }
}

HWY_INLINE void make_groups(const RoundKeys& keys, uint64_t group, PhiloxGroups& groups) {
  const hn::CappedTag<uint32_t, kCounters> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < kGroups * kCounters; i += kAtOnce * lanes) {
    hn::Vec<decltype(d)> words[kAtOnce][4];
    mix(d, keys, group * kCounters + i, 0, words);
    for (size_t v = 0; v < kAtOnce; ++v)
      for (size_t w = 0; w < 4; ++w) {
        const size_t counter = i + v * lanes;
        hn::StoreU(words[v][w], d, groups[counter / kCounters][w] + counter % kCounters);
      }
  }
}

void blocks(uint64_t key, uint64_t first, uint64_t block, uint32_t* words) {
  const hn::CappedTag<uint32_t, kCounters> d;
  const size_t lanes = hn::Lanes(d);
  const RoundKeys keys(key);
  for (size_t i = 0; i < kPhiloxBlocks; i += kAtOnce * lanes) {
    hn::Vec<decltype(d)> mixed[kAtOnce][4];
    mix(d, keys, first + i, static_cast<uint32_t>(block), mixed);
    for (size_t v = 0; v < kAtOnce; ++v)
      hn::StoreInterleaved4(mixed[v][0], mixed[v][1], mixed[v][2], mixed[v][3], d, words + 4 * (i + v * lanes));
  }
}

#endif

// Row after row.
HWY_INLINE const uint32_t* all_words(const PhiloxGroup& words) { return &words[0][0]; }

// Uniforms in [0, 1) from the words: 24 bits of one for a float, 53 bits of two for a double.
HWY_INLINE void uniforms(const PhiloxGroup& words, float* to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const auto scale = hn::Set(d, 0x1p-24f);
  for (size_t i = 0; i < 4 * kCounters; i += hn::Lanes(d)) {
    const auto bits = hn::ShiftRight<8>(hn::LoadU(du, all_words(words) + i));
    hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::BitCast(di, bits)), scale), d, to + i);
  }
}

HWY_INLINE void uniforms(const PhiloxGroup& words, double* to) {
  for (size_t s = 0; s < 2; ++s)
    for (size_t l = 0; l < kCounters; ++l)
      to[s * kCounters + l] = (static_cast<double>(static_cast<int32_t>(words[2 * s][l] >> 5)) * 0x1p26 +
                               static_cast<double>(static_cast<int32_t>(words[2 * s + 1][l] >> 6))) *
                              0x1p-53;
}

// Box and Muller: rows of uniforms in pairs become rows of normals, in place.
template <class Real>
HWY_INLINE void normals(Real* u) {
  const hn::ScalableTag<Real> d;
  const auto one = hn::Set(d, Real{1}), minus_two = hn::Set(d, Real{-2}), half = hn::Set(d, Real{0.5});
  const auto turn = hn::Set(d, 2 * std::numbers::pi_v<Real>);
  for (size_t pair = 0; pair < kPerGroup<Real>; pair += 2 * kCounters) {
    for (size_t l = pair; l < pair + kCounters; l += hn::Lanes(d)) {
      const auto radius = hn::Sqrt(hn::Mul(minus_two, hn::Log(d, hn::Sub(one, hn::LoadU(d, u + l)))));
      const auto angle = hn::Mul(turn, hn::Sub(hn::LoadU(d, u + l + kCounters), half));
      hn::StoreU(hn::Mul(radius, hn::Cos(d, angle)), d, u + l);
      hn::StoreU(hn::Mul(radius, hn::Sin(d, angle)), d, u + l + kCounters);
    }
  }
}

template <class Real, bool kNormal>
HWY_INLINE void make_values(const PhiloxGroup& words, Real offset, Real factor, Real* values) {
  const hn::ScalableTag<Real> d;
  const auto by = hn::Set(d, factor), plus = hn::Set(d, offset);
  alignas(64) Real group[kPerGroup<Real>];
  uniforms(words, group);
  if constexpr (kNormal) normals(group);
  for (size_t k = 0; k < kPerGroup<Real>; k += hn::Lanes(d))
    hn::StoreU(hn::Add(plus, hn::Mul(by, hn::Load(d, group + k))), d, values + k);
}

// make(words, to) makes the kGroup values of a group, of which the last is cut off at n.
template <size_t kGroup, class T, class Make>
HWY_INLINE void for_each_group(uint64_t key, int64_t first, int64_t count, T* values, const Make& make) {
  const RoundKeys keys(key);
  const auto n = static_cast<size_t>(count);
  alignas(64) PhiloxGroups words;
  for (size_t i = 0; i < n; i += kGroup) {
    const size_t part = i / kGroup % kGroups;
    if (part == 0) make_groups(keys, static_cast<uint64_t>(first) / kGroup + i / kGroup, words);
    if (n - i >= kGroup) {
      make(words[part], values + i);
    } else {
      T rest[kGroup];
      make(words[part], rest);
      std::copy(rest, rest + (n - i), values + i);
    }
  }
}

template <class Real, bool kNormal>
void fill(uint64_t key, int64_t first, int64_t n, Real offset, Real factor, Real* values) {
  for_each_group<kPerGroup<Real>>(key, first, n, values, [=](const PhiloxGroup& words, Real* to) HWY_ATTR {
    make_values<Real, kNormal>(words, offset, factor, to);
  });
}

void below(uint64_t key, int64_t first, int64_t n, float bound, uint8_t* flags) {
  const hn::ScalableTag<uint32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const hn::RebindToSigned<decltype(d)> di;
  // Uniforms are multiples of 2^-24.
  const auto limit = hn::Set(di, static_cast<int32_t>(std::ceil(std::clamp(bound, 0.0f, 1.0f) * 0x1p24f)));
  for_each_group<4 * kCounters>(key, first, n, flags, [=](const PhiloxGroup& words, uint8_t* to) HWY_ATTR {
    for (size_t i = 0; i < 4 * kCounters; i += hn::Lanes(d)) {
      const auto bits = hn::BitCast(di, hn::ShiftRight<8>(hn::LoadU(d, all_words(words) + i)));
      const auto flag = hn::IfThenElseZero(hn::Lt(bits, limit), hn::Set(di, 1));
      hn::StoreU(hn::U8FromU32(hn::BitCast(d, flag)), bytes, to + i);
    }
  });
}

void uniform_float(uint64_t key, int64_t first, int64_t n, float offset, float factor, float* values) {
  fill<float, false>(key, first, n, offset, factor, values);
}
void uniform_double(uint64_t key, int64_t first, int64_t n, double offset, double factor, double* values) {
  fill<double, false>(key, first, n, offset, factor, values);
}
void normal_float(uint64_t key, int64_t first, int64_t n, float offset, float factor, float* values) {
  fill<float, true>(key, first, n, offset, factor, values);
}
void normal_double(uint64_t key, int64_t first, int64_t n, double offset, double factor, double* values) {
  fill<double, true>(key, first, n, offset, factor, values);
}

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(uniform_float);
HWY_EXPORT(uniform_double);
HWY_EXPORT(normal_float);
HWY_EXPORT(normal_double);
HWY_EXPORT(below);
HWY_EXPORT(blocks);

template <>
void philox_uniform(uint64_t key, int64_t first, int64_t n, float offset, float factor, float* values) {
  HWY_DYNAMIC_DISPATCH(uniform_float)(key, first, n, offset, factor, values);
}
template <>
void philox_uniform(uint64_t key, int64_t first, int64_t n, double offset, double factor, double* values) {
  HWY_DYNAMIC_DISPATCH(uniform_double)(key, first, n, offset, factor, values);
}
template <>
void philox_normal(uint64_t key, int64_t first, int64_t n, float offset, float factor, float* values) {
  HWY_DYNAMIC_DISPATCH(normal_float)(key, first, n, offset, factor, values);
}
template <>
void philox_normal(uint64_t key, int64_t first, int64_t n, double offset, double factor, double* values) {
  HWY_DYNAMIC_DISPATCH(normal_double)(key, first, n, offset, factor, values);
}
void philox_below(uint64_t key, int64_t first, int64_t n, float bound, uint8_t* flags) {
  HWY_DYNAMIC_DISPATCH(below)(key, first, n, bound, flags);
}
void philox_blocks(uint64_t key, uint64_t first, uint64_t block, uint32_t* words) {
  HWY_DYNAMIC_DISPATCH(blocks)(key, first, block, words);
}

}  // namespace headrace
#endif
