// Half types in vectors: a float vector to and from the 16-bit words of as many halves. Compiled once per instruction
// set. Every conversion rounds to nearest even and keeps NaNs NaN.
#if defined(HEADRACE_OP_SIMD_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_OP_SIMD_HALF_INL_H_
#undef HEADRACE_OP_SIMD_HALF_INL_H_
#else
#define HEADRACE_OP_SIMD_HALF_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class W>
HWY_INLINE hn::Vec<D> bfloat16_to_float(D d, W words) {
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), words)));
}

// By hand: Highway's own demotion truncates.
template <class D, class V>
HWY_INLINE auto float_to_bfloat16(D d, V x) {
  const hn::RebindToUnsigned<D> bits;
  const hn::Rebind<uint16_t, D> halves;
  const auto word = hn::BitCast(bits, x);
  const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(bits, 1));
  const auto rounded = hn::Add(word, hn::Add(odd, hn::Set(bits, 0x7fff)));
  const auto quiet = hn::Or(word, hn::Set(bits, 0x400000));
  const auto result = hn::IfThenElse(hn::IsNaN(x), hn::BitCast(d, quiet), hn::BitCast(d, rounded));
  return hn::DemoteTo(halves, hn::BitCast(hn::RebindToSigned<D>(), hn::ShiftRight<16>(hn::BitCast(bits, result))));
}

template <class D, class W>
HWY_INLINE hn::Vec<D> float16_to_float(D d, W words) {
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), words));
}

template <class D, class V>
HWY_INLINE auto float_to_float16(D, V x) {
  return hn::BitCast(hn::Rebind<uint16_t, D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), x));
}

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
