// The natural logarithm on vectors of float32, within two units in the last place, at every argument. Compiled once per
// instruction set.
//
// log(2^n m) = n ln 2 + log(1 + f) with f = m - 1 and m between the roots of 1/2 and 2, where log(1 + f) is a
// polynomial f - f^2 / 2 + c3 f^3 + ... whose coefficients make the greatest relative error least: 6e-9.
#if defined(HEADRACE_OP_SIMD_LOGARITHM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_OP_SIMD_LOGARITHM_INL_H_
#undef HEADRACE_OP_SIMD_LOGARITHM_INL_H_
#else
#define HEADRACE_OP_SIMD_LOGARITHM_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class V>
struct Split {
  V n, m;  // n is whole, or infinite where the logarithm is; m is NaN where the logarithm is
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// The mantissa from 1 to 2, NaN of negative numbers; 1 of zeros and infinities.
HWY_INLINE hn::Vec512<float> mantissa(hn::Vec512<float> x) {
  return hn::Vec512<float>{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan)};
}
HWY_INLINE hn::Vec256<float> mantissa(hn::Vec256<float> x) {
  return hn::Vec256<float>{_mm256_getmant_ps(x.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan)};
}
template <size_t kLanes>
HWY_INLINE hn::Vec128<float, kLanes> mantissa(hn::Vec128<float, kLanes> x) {
  return hn::Vec128<float, kLanes>{_mm_getmant_ps(x.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan)};
}
// Infinite of zeros and infinities.
HWY_INLINE hn::Vec512<float> exponent(hn::Vec512<float> x) { return hn::Vec512<float>{_mm512_getexp_ps(x.raw)}; }
HWY_INLINE hn::Vec256<float> exponent(hn::Vec256<float> x) { return hn::Vec256<float>{_mm256_getexp_ps(x.raw)}; }
template <size_t kLanes>
HWY_INLINE hn::Vec128<float, kLanes> exponent(hn::Vec128<float, kLanes> x) {
  return hn::Vec128<float, kLanes>{_mm_getexp_ps(x.raw)};
}

template <class D, class V>
HWY_INLINE Split<V> split(D d, V x) {
  const V m = mantissa(x), n = exponent(x), one = hn::Set(d, 1);
  const auto is_large = hn::Ge(m, hn::Set(d, 0x1.6a09e6p0f));
  return {hn::IfThenElse(is_large, hn::Add(n, one), n), hn::IfThenElse(is_large, hn::Mul(m, hn::Set(d, 0.5f)), m)};
}
#else
template <class D, class V>
HWY_INLINE Split<V> split(D d, V x) {
  const hn::RebindToSigned<D> bits;
  const V zero = hn::Zero(d), infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto is_tiny = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
  const V y = hn::IfThenElse(is_tiny, hn::Mul(x, hn::Set(d, 0x1p23f)), x);
  const auto own = hn::BitCast(bits, y);
  constexpr auto kRootOfHalf = std::bit_cast<int32_t>(0x1.6a09e6p-1f);
  const auto whole = hn::ShiftRight<23>(hn::Sub(own, hn::Set(bits, kRootOfHalf)));
  V n = hn::ConvertTo(d, whole), m = hn::BitCast(d, hn::Sub(own, hn::ShiftLeft<23>(whole)));
  n = hn::IfThenElse(is_tiny, hn::Sub(n, hn::Set(d, 23)), n);
  n = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::IfThenElse(hn::Eq(x, infinity), infinity, n));
  m = hn::IfThenElse(hn::Ge(x, zero), m, hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
  return {n, m};
}
#endif

template <class D, class V>
HWY_INLINE V natural_logarithm(D d, V x) {
  constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;  // n * kLn2High is exact
  constexpr float kCoefficients[] = {0x1.055d18p-3f, -0x1.0d829cp-3f, 0x1.22d96ap-3f, -0x1.547288p-3f,
                                     0x1.99a01ap-3f, -0x1.000226p-2f, 0x1.555554p-2f};
  const auto [n, m] = split(d, x);
  const V f = hn::Sub(m, hn::Set(d, 1)), square = hn::Mul(f, f);
  V p = hn::Set(d, -0x1.38c38p-4f);
  for (const float c : kCoefficients) p = hn::MulAdd(p, f, hn::Set(d, c));
  V y = hn::MulAdd(n, hn::Set(d, kLn2Low), hn::Mul(hn::Mul(p, f), square));
  y = hn::Add(f, hn::NegMulAdd(square, hn::Set(d, 0.5f), y));
  return hn::MulAdd(n, hn::Set(d, kLn2High), y);
}

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
