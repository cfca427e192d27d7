#include "ops/random/philox_fill.h"

#include <algorithm>
#include <numbers>

#include "op/simd/targets.h"
#include "ops/random/philox.h"

// A group is 16 counters side by side: 64 words, that is 64 floats or 32 doubles. Word w of counter l stands at
// words[w][l], whatever the vector width, so the order of elements is the same on every machine.
#ifndef HEADRACE_OPS_RANDOM_PHILOX_FILL_
#define HEADRACE_OPS_RANDOM_PHILOX_FILL_
namespace headrace {

inline constexpr int64_t kCounters = 16;
using PhiloxGroup = uint32_t[4][kCounters];

template <class Real>
inline constexpr int64_t kPerGroup = static_cast<int64_t>(sizeof(PhiloxGroup) / sizeof(Real));

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

#if HWY_TARGET == HWY_SCALAR

inline void make_group(uint64_t key, uint64_t group, PhiloxGroup& words) {
  for (uint64_t l = 0; l < kCounters; ++l) {
    const std::array<uint32_t, 4> block = Philox::block(key, group * kCounters + l, 0);
    for (size_t w = 0; w < 4; ++w) words[w][l] = block[w];
  }
}

#else

// High and low halves of 32-bit products.
template <class V>
HWY_INLINE void multiply(V a, V factor, V& high, V& low) {
  const hn::ScalableTag<uint32_t> d;
  const hn::Repartition<uint64_t, decltype(d)> wide;
  const auto even = hn::MulEven(a, factor);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), factor);
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
}

HWY_INLINE void make_group(uint64_t key, uint64_t group, PhiloxGroup& words) {
  const hn::ScalableTag<uint32_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  const V m0 = hn::Set(d, Philox::kMultiplier0), m1 = hn::Set(d, Philox::kMultiplier1);
  for (int64_t l = 0; l < kCounters; l += lanes) {
    // The counters of a group differ in their low word only: a group begins at a multiple of 16.
    const uint64_t counter = group * kCounters + static_cast<uint64_t>(l);
    V c0 = hn::Iota(d, static_cast<uint32_t>(counter)), c1 = hn::Set(d, static_cast<uint32_t>(counter >> 32));
    V c2 = hn::Zero(d), c3 = hn::Zero(d);
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < Philox::kRounds; ++round, k0 += Philox::kWeyl0, k1 += Philox::kWeyl1) {
      V high0, low0, high1, low1;
      multiply(c0, m0, high0, low0);
      multiply(c2, m1, high1, low1);
      c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
      c1 = low1;
      c3 = low0;
    }
    hn::StoreU(c0, d, words[0] + l);
    hn::StoreU(c1, d, words[1] + l);
    hn::StoreU(c2, d, words[2] + l);
    hn::StoreU(c3, d, words[3] + l);
  }
}

#endif

// Uniforms in [0, 1) from the words: 24 bits of one for a float, 53 bits of two for a double.
HWY_INLINE void uniforms(const PhiloxGroup& words, float* to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const auto scale = hn::Set(d, 0x1p-24f);
  for (int64_t i = 0; i < 4 * kCounters; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto bits = hn::ShiftRight<8>(hn::LoadU(du, words[0] + i));
    hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::BitCast(di, bits)), scale), d, to + i);
  }
}

HWY_INLINE void uniforms(const PhiloxGroup& words, double* to) {
  for (int64_t s = 0; s < 2; ++s)
    for (int64_t l = 0; l < kCounters; ++l)
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
  for (int64_t pair = 0; pair < kPerGroup<Real>; pair += 2 * kCounters) {
    for (int64_t l = pair; l < pair + kCounters; l += static_cast<int64_t>(hn::Lanes(d))) {
      const auto radius = hn::Sqrt(hn::Mul(minus_two, hn::Log(d, hn::Sub(one, hn::LoadU(d, u + l)))));
      const auto angle = hn::Mul(turn, hn::Sub(hn::LoadU(d, u + l + kCounters), half));
      hn::StoreU(hn::Mul(radius, hn::Cos(d, angle)), d, u + l);
      hn::StoreU(hn::Mul(radius, hn::Sin(d, angle)), d, u + l + kCounters);
    }
  }
}

template <class Real, bool kNormal>
void fill(uint64_t key, int64_t first, int64_t n, Real offset, Real factor, Real* values) {
  constexpr int64_t kGroup = kPerGroup<Real>;
  const hn::ScalableTag<Real> d;
  const auto by = hn::Set(d, factor), plus = hn::Set(d, offset);
  alignas(64) PhiloxGroup words;
  alignas(64) Real group[kGroup];
  for (int64_t i = 0; i < n; i += kGroup) {
    make_group(key, static_cast<uint64_t>((first + i) / kGroup), words);
    uniforms(words, group);
    if constexpr (kNormal) normals(group);
    for (int64_t k = 0; k < kGroup; k += static_cast<int64_t>(hn::Lanes(d)))
      hn::Store(hn::Add(plus, hn::Mul(by, hn::Load(d, group + k))), d, group + k);
    std::copy(group, group + std::min(kGroup, n - i), values + i);
  }
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

}  // namespace headrace
#endif
