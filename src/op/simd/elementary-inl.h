// Elementary functions on vectors, right at every argument: approximations inside their range, and zeros, infinities,
// NaNs and the edges of the range put right around them. float32 is within 4 units in the last place of the exact
// value, float64 too. Compiled once per instruction set.
#if defined(HEADRACE_OP_SIMD_ELEMENTARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_OP_SIMD_ELEMENTARY_INL_H_
#undef HEADRACE_OP_SIMD_ELEMENTARY_INL_H_
#else
#define HEADRACE_OP_SIMD_ELEMENTARY_INL_H_
#endif

#include <cmath>
#include <limits>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>
#include "op/simd/exponential-inl.h"
#include "op/simd/logarithm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> infinity(D d) {
  return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
}

template <class D>
HWY_INLINE hn::Vec<D> not_a_number(D d) {
  return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN());
}

template <class V>
HWY_INLINE V keep_nan(V x, V y) {
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// Functions that map a zero to the same zero.
template <class D, class V>
HWY_INLINE V keep_zero(D d, V x, V y) {
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);
}

// Replaces the lanes of y where `where` is set by f of the same lanes of x: arguments too rare for vector code.
template <class D, class V, class M, class F>
HWY_INLINE V patch(D d, M where, V y, F f, V a, V b) {
  if (HWY_LIKELY(hn::AllFalse(d, where))) return y;
  using T = hn::TFromD<D>;
  constexpr size_t kLanes = hn::MaxLanes(D());
  alignas(64) T chosen[kLanes], first[kLanes], second[kLanes], result[kLanes];
  hn::Store(hn::IfThenElseZero(where, hn::Set(d, 1)), d, chosen);
  hn::Store(a, d, first);
  hn::Store(b, d, second);
  hn::Store(y, d, result);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (chosen[i] != 0) result[i] = f(first[i], second[i]);
  }
  return hn::Load(d, result);
}

template <class D, class V>
HWY_INLINE V expm1_of(D d, V x) {
  using Constants = Exponential<hn::TFromD<D>>;
  return keep_zero(d, x, expm1_unsigned(d, clamped(d, x, Constants::kLeastLess1, Constants::kMost)));
}

template <class D, class V>
HWY_INLINE V log_of(D d, V x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return natural_logarithm(d, x);
  } else {
    const V zero = hn::Zero(d), top = infinity(d);
    V y = hn::IfThenElse(hn::Eq(x, top), x, hn::Log(d, x));
    y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(top), y);
    return hn::IfThenElse(hn::Ge(x, zero), y, not_a_number(d));
  }
}

// log(1 + x) = log(y) * x / (y - 1) with y = 1 + x as rounded: the error of y cancels.
template <class D, class V>
HWY_INLINE V log1p_of(D d, V x) {
  const V one = hn::Set(d, 1), y = hn::Add(x, one);
  const auto is_tiny = hn::Eq(y, one);
  const V ratio = hn::Div(x, hn::IfThenElse(is_tiny, one, hn::Sub(y, one)));
  const V result = hn::IfThenElse(is_tiny, x, hn::Mul(log_of(d, y), ratio));
  return hn::IfThenElse(hn::Eq(y, infinity(d)), y, result);
}

template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  const V magnitude = clamped(d, hn::Abs(x), 0, 20);  // from 20 on it is 1
  const V e = expm1_unsigned(d, hn::Add(magnitude, magnitude));
  return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, 2))), x);
}

// e^|x| / 2 where e^|x| itself overflows.
template <class D, class V>
HWY_INLINE V half_exp(D d, V magnitude) {
  const V root = exp_of(d, hn::Mul(magnitude, hn::Set(d, 0.5)));
  return hn::Mul(hn::Mul(root, hn::Set(d, 0.5)), root);
}

template <class D, class V>
HWY_INLINE V sinh_of(D d, V x) {
  const V magnitude = hn::Abs(x), one = hn::Set(d, 1);
  const V e = expm1_of(d, magnitude);
  const V y = hn::Mul(hn::Set(d, 0.5), hn::Add(e, hn::Div(e, hn::Add(e, one))));
  const auto is_large = hn::Gt(magnitude, hn::Set(d, sizeof(hn::TFromD<D>) == 4 ? 80 : 700));
  return keep_nan(x, hn::CopySign(hn::IfThenElse(is_large, half_exp(d, magnitude), y), x));
}

template <class D, class V>
HWY_INLINE V cosh_of(D d, V x) {
  const V magnitude = hn::Abs(x), half = hn::Set(d, 0.5);
  const V e = exp_of(d, magnitude);
  const V y = hn::MulAdd(half, e, hn::Div(half, e));
  const auto is_large = hn::Gt(magnitude, hn::Set(d, sizeof(hn::TFromD<D>) == 4 ? 80 : 700));
  return hn::IfThenElse(is_large, half_exp(d, magnitude), y);
}

template <class D, class V>
HWY_INLINE V asinh_of(D d, V x) {
  const V magnitude = hn::Abs(x), one = hn::Set(d, 1);
  const auto is_large = hn::Gt(magnitude, hn::Set(d, 0x1p28));
  const V small = hn::IfThenElse(is_large, one, magnitude), square = hn::Mul(small, small);
  const V y = log1p_of(d, hn::Add(small, hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(one, square))))));
  const V large = hn::Add(log_of(d, magnitude), hn::Set(d, 0.693147180559945309417));
  return keep_nan(x, hn::CopySign(hn::IfThenElse(is_large, large, y), x));
}

template <class D, class V>
HWY_INLINE V acosh_of(D d, V x) {
  const V one = hn::Set(d, 1);
  const auto is_large = hn::Gt(x, hn::Set(d, 0x1p28));
  const V above = hn::Sub(hn::IfThenElse(is_large, one, x), one);
  const V y = log1p_of(d, hn::Add(above, hn::Sqrt(hn::MulAdd(above, above, hn::Add(above, above)))));
  const V large = hn::Add(log_of(d, x), hn::Set(d, 0.693147180559945309417));
  return hn::IfThenElse(hn::Ge(x, one), hn::IfThenElse(is_large, large, y), not_a_number(d));
}

template <class D, class V>
HWY_INLINE V atanh_of(D d, V x) {
  const V magnitude = hn::Abs(x), one = hn::Set(d, 1);
  const V y = log1p_of(d, hn::Div(hn::Add(magnitude, magnitude), hn::Sub(one, magnitude)));
  return keep_nan(x, hn::CopySign(hn::Mul(hn::Set(d, 0.5), y), x));
}

// Highway reduces arguments of sin and cos exactly enough up to here; larger ones go to the C library.
template <class D, class V>
HWY_INLINE auto beyond_reduction(D d, V x) {
  return hn::Not(hn::Le(hn::Abs(x), hn::Set(d, 39000)));
}

template <class D, class V>
HWY_INLINE V sin_of(D d, V x) {
  using T = hn::TFromD<D>;
  const auto beyond = beyond_reduction(d, x);
  const V inside = hn::IfThenZeroElse(beyond, x);
  return patch(
      d, beyond, keep_zero(d, x, hn::Sin(d, inside)), [](T a, T) { return std::sin(a); }, x, x);
}

template <class D, class V>
HWY_INLINE V cos_of(D d, V x) {
  using T = hn::TFromD<D>;
  const auto beyond = beyond_reduction(d, x);
  const V inside = hn::IfThenZeroElse(beyond, x);
  const V y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Set(d, 1), hn::Cos(d, inside));  // not a last bit less
  return patch(
      d, beyond, y, [](T a, T) { return std::cos(a); }, x, x);
}

template <class D, class V>
HWY_INLINE V tan_of(D d, V x) {
  using T = hn::TFromD<D>;
  const auto beyond = beyond_reduction(d, x);
  const V inside = hn::IfThenZeroElse(beyond, x);
  const V y = keep_zero(d, x, hn::Div(hn::Sin(d, inside), hn::Cos(d, inside)));
  return patch(
      d, beyond, y, [](T a, T) { return std::tan(a); }, x, x);
}

template <class D, class V>
HWY_INLINE V asin_of(D d, V x) {
  const auto is_inside = hn::Le(hn::Abs(x), hn::Set(d, 1));
  return hn::IfThenElse(is_inside, hn::Asin(d, x), not_a_number(d));
}

template <class D, class V>
HWY_INLINE V acos_of(D d, V x) {
  const auto is_inside = hn::Le(hn::Abs(x), hn::Set(d, 1));
  return hn::IfThenElse(is_inside, hn::Acos(d, x), not_a_number(d));
}

template <class D, class V>
HWY_INLINE V atan_of(D d, V x) {
  return keep_nan(x, hn::Atan(d, x));
}

// In double lanes: a ** b by logarithms, good to 40 bits (so right for float32 results), with C's special cases.
template <class D, class V>
HWY_INLINE V pow_of(D d, V a, V b) {
  const V zero = hn::Zero(d), one = hn::Set(d, 1), half = hn::Mul(b, hn::Set(d, 0.5)), top = infinity(d);
  const V magnitude = hn::Abs(a);
  V y = exp_of(d, hn::Mul(b, log_of(d, magnitude)));
  const auto is_whole = hn::Eq(hn::Floor(b), b);
  const auto is_odd = hn::AndNot(hn::Eq(hn::Floor(half), half), is_whole);
  y = hn::IfThenElse(is_odd, hn::CopySign(y, a), y);
  const auto negative = hn::And(hn::Lt(a, zero), hn::Lt(magnitude, top));
  y = hn::IfThenElse(hn::AndNot(is_whole, negative), not_a_number(d), y);
  const auto is_unit = hn::Or(hn::Eq(a, one), hn::And(hn::Eq(magnitude, one), hn::Eq(hn::Abs(b), top)));
  return hn::IfThenElse(hn::Or(is_unit, hn::Eq(b, zero)), one, y);
}

// In double lanes, with the sign and the zeros of x.
template <class D, class V>
HWY_INLINE V cbrt_of(D d, V x, double power) {
  return hn::CopySign(exp_of(d, hn::Mul(log_of(d, hn::Abs(x)), hn::Set(d, power))), x);
}

// In double lanes of float32 values: an infinity wins over a NaN.
template <class D, class V>
HWY_INLINE V hypot_of(D d, V a, V b) {
  const V top = infinity(d);
  const auto is_infinite = hn::Or(hn::Eq(hn::Abs(a), top), hn::Eq(hn::Abs(b), top));
  return hn::IfThenElse(is_infinite, top, hn::Sqrt(hn::Add(hn::Mul(a, a), hn::Mul(b, b))));
}

// In double lanes of float32 values: exact while the quotient fits beside the divisor's 24 bits.
template <class D, class V>
HWY_INLINE V fmod_of(D d, V a, V b) {
  using T = hn::TFromD<D>;
  const V quotient = hn::Trunc(hn::Div(a, b));
  const auto beyond = hn::Not(hn::Lt(hn::Abs(quotient), hn::Set(d, 0x1p27)));
  const V rest = hn::CopySign(hn::Sub(a, hn::Mul(quotient, b)), a);
  const V y = hn::IfThenElse(hn::Eq(quotient, hn::Zero(d)), a, rest);  // an infinite divisor takes nothing
  return patch(
      d, beyond, y, [](T x, T m) { return std::fmod(x, m); }, a, b);
}

template <class D, class V>
HWY_INLINE V mod_of(D d, V a, V b) {
  const V zero = hn::Zero(d), r = fmod_of(d, a, b);
  const auto differ = hn::Xor(hn::Lt(r, zero), hn::Lt(b, zero));
  const V moved = hn::IfThenElse(differ, hn::Add(r, b), r);
  return hn::IfThenElse(hn::Eq(r, zero), hn::CopySign(zero, b), moved);
}

// float32 only. Up to 0.92 an odd polynomial; beyond, 1 - exp(p(x)) with p fitted to log(erfc(x)).
template <class D, class V>
HWY_INLINE V erf_of(D d, V x) {
  const V one = hn::Set(d, 1), magnitude = hn::Min(hn::Abs(x), hn::Set(d, 4)), s = hn::Mul(magnitude, magnitude);
  V p = hn::Set(d, 8.369576244149357e-05f);
  for (const float c : {-0.0008142580627463758f, 0.005201021209359169f, -0.02685939334332943f, 0.11283695697784424f,
                        -0.37612634897232056f, 0.12837922573089600f})
    p = hn::MulAdd(p, s, hn::Set(d, c));
  const V small = hn::MulAdd(p, magnitude, magnitude);
  V q = hn::Set(d, 0.00019822070316877216f);
  for (const float c : {-0.0030654999427497387f, 0.02231524884700775f, -0.10411374270915985f, -0.6369760036468506f,
                        -1.127797245979309f, -0.00016643907292746007f})
    q = hn::MulAdd(q, magnitude, hn::Set(d, c));
  const V large = hn::Sub(one, exp_of(d, q));
  const V y = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.92f)), small, large);
  return keep_nan(x, hn::CopySign(y, x));
}

#if HWY_TARGET != HWY_SCALAR
// Applies a function of double vectors to float vectors, half at a time.
template <class D, class F, class... V>
HWY_INLINE hn::Vec<D> through_double(D d, F f, V... x) {
  const hn::Half<D> half;
  const hn::Repartition<double, D> wide;
  const auto low = f(wide, hn::PromoteTo(wide, hn::LowerHalf(half, x))...);
  const auto high = f(wide, hn::PromoteTo(wide, hn::UpperHalf(half, x))...);
  return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
}
#endif

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
