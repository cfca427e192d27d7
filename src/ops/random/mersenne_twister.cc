#include "ops/random/mersenne_twister.h"

#include <algorithm>

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/random/mersenne_twister.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

constexpr size_t kStateSize = MersenneTwister::kSize, kMiddle = 397, kBehind = kStateSize - kMiddle;

// A vector has at most as many lanes as the padding of a state.
using WordTag = hn::CappedTag<uint32_t, 16>;

// Word i of the new state, of words i and i + 1 of the old one and word i + 397 of the old or i - 227 of the new one.
template <class D, class V>
HWY_INLINE V next_state(D d, V word, V following, V far) {
  const V joined = hn::Or(hn::And(word, hn::Set(d, 0x80000000u)), hn::And(following, hn::Set(d, 0x7fffffffu)));
  const V matrix = hn::IfThenElseZero(hn::TestBit(joined, hn::Set(d, 1u)), hn::Set(d, 0x9908b0dfu));
  return hn::Xor3(far, hn::ShiftRight<1>(joined), matrix);
}

// In place: no vector is written before what reads its old words has read them. The words behind the state are junk.
void renew_state(uint32_t* s) {
  const WordTag d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= kBehind; i += lanes)
    hn::StoreU(next_state(d, hn::LoadU(d, s + i), hn::LoadU(d, s + i + 1), hn::LoadU(d, s + i + kMiddle)), d, s + i);
  const auto rest = next_state(d, hn::LoadU(d, s + i), hn::LoadU(d, s + i + 1), hn::LoadU(d, s + i + kMiddle));
  store_first(rest, d, s + i, kBehind - i);
  s[kStateSize] = s[0];
  for (i = kBehind; i < kStateSize; i += lanes)
    hn::StoreU(next_state(d, hn::LoadU(d, s + i), hn::LoadU(d, s + i + 1), hn::LoadU(d, s + i - kBehind)), d, s + i);
}

struct Tempering {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V y) {
    y = hn::Xor(y, hn::ShiftRight<11>(y));
    y = hn::Xor(y, hn::And(hn::ShiftLeft<7>(y), hn::Set(d, MersenneTwister::kTempering7)));
    y = hn::Xor(y, hn::And(hn::ShiftLeft<15>(y), hn::Set(d, MersenneTwister::kTempering15)));
    return hn::Xor(y, hn::ShiftRight<18>(y));
  }
};

void temper(const uint32_t* state, uint32_t* words, size_t n) {
  const WordTag d;
  vector_loop<Tempering>(d, words, n, FromMemory<WordTag>(d, state));
}

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(renew_state);
HWY_EXPORT(temper);

MersenneTwister::MersenneTwister(uint32_t seed) noexcept {
  state_[0] = seed;
  for (uint32_t i = 1; i < kSize; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  std::fill(state_ + kSize, std::end(state_), 0u);
}

void MersenneTwister::renew() noexcept {
  HWY_DYNAMIC_DISPATCH(renew_state)(state_);
  next_ = 0;
}

void MersenneTwister::discard(int64_t n) noexcept {
  for (auto left = static_cast<size_t>(n); left > 0;) {
    if (next_ == kSize) renew();
    const size_t count = std::min(left, kSize - next_);
    next_ += count;
    left -= count;
  }
}

void MersenneTwister::fill(uint32_t* words, int64_t n) noexcept {
  for (auto left = static_cast<size_t>(n); left > 0;) {
    if (next_ == kSize) renew();
    const size_t count = std::min(left, kSize - next_);
    HWY_DYNAMIC_DISPATCH(temper)(state_ + next_, words, count);
    next_ += count;
    words += count;
    left -= count;
  }
}

}  // namespace headrace
#endif
