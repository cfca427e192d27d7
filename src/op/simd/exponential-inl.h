// exp on vectors of float32 and float64, within one unit in the last place, at every argument; exp - 1 within two.
// Where multiplying and adding are two steps, within 1.2. Compiled once per instruction set; all that multiply and add
// in one step give the same bits.
//
// exp(x) = 2^n * exp(r) with n = round(x / ln 2) and r = x - n ln 2, so |r| <= ln(2) / 2. There exp(r) is a polynomial
// 1 + r + c2 r^2 + ... whose coefficients make the greatest relative error least: 3.2e-9 in float32's six terms, 4e-18
// in float64's eleven.
#if defined(HEADRACE_OP_SIMD_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_OP_SIMD_EXPONENTIAL_INL_H_
#undef HEADRACE_OP_SIMD_EXPONENTIAL_INL_H_
#else
#define HEADRACE_OP_SIMD_EXPONENTIAL_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <iterator>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Exponential;

template <>
struct Exponential<float> {
  using Bits = uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr float kLeast = -104, kMost = 89;  // beyond: zero, infinity
  static constexpr float kMostPower = 88.37f;        // beyond, the power of two that it is near is infinity
  static constexpr float kLeastNormal = -87.34f;     // below: denormal numbers, which are multiples of 2^-kDenormalBits
  static constexpr int kDenormalBits = 149;
  static constexpr float kLeastPlain = -87.3f, kPlain = 1.22e-38f;  // kPlain: hardly above exp(kLeastPlain)
  static constexpr float kLeastLess1 = -20;                         // beyond: -1
  static constexpr float kLog2E = 0x1.715476p0f;
  static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;  // n * kLn2High is exact
  static constexpr float kRounder = 0x1.8p23f;  // adding it leaves no place for what comes after the point
  static constexpr float kCoefficients[] = {0x1.6a4d5ap-10f, 0x1.12398ep-7f, 0x1.5558b0p-5f, 0x1.555492p-3f,
                                            0x1.fffffcp-2f};
};

template <>
struct Exponential<double> {
  using Bits = uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr double kLeast = -746, kMost = 710, kMostPower = 709.43, kLeastLess1 = -40;
  static constexpr double kLeastNormal = -708.4;
  static constexpr int kDenormalBits = 1074;
  static constexpr double kLeastPlain = -708.3, kPlain = 2.46e-308;
  static constexpr double kLog2E = 0x1.71547652b82fep0;
  static constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;
  static constexpr double kRounder = 0x1.8p52;
  static constexpr double kCoefficients[] = {
      0x1.ad9c007209236p-26, 0x1.28ad9a8c0f3b2p-22, 0x1.71df0fddbd3e5p-19, 0x1.a01999d090a96p-16, 0x1.a01a0136242bdp-13,
      0x1.6c16c1844ccc4p-10, 0x1.1111111124f2fp-7,  0x1.555555555075cp-5,  0x1.5555555555509p-3,  0x1.000000000000ap-1};
};

// x, or the bound it is beyond; NaN stays.
template <class D, class V>
HWY_INLINE V clamped(D d, V x, hn::TFromD<D> least, hn::TFromD<D> most) {
  const V inside = hn::Min(hn::Set(d, most), hn::Max(hn::Set(d, least), x));
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR  // instructions that give the second operand where one is NaN
  return inside;
#else
  return hn::IfThenElse(hn::IsNaN(x), x, inside);
#endif
}

// x = n ln 2 + r
template <class V>
struct Reduced {
  V n, r;           // n is whole
  V n_and_rounder;  // n + kRounder
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
HWY_INLINE hn::Vec512<float> scaled(hn::Vec512<float> x, hn::Vec512<float> n) {
  return hn::Vec512<float>{_mm512_scalef_ps(x.raw, n.raw)};
}
HWY_INLINE hn::Vec256<float> scaled(hn::Vec256<float> x, hn::Vec256<float> n) {
  return hn::Vec256<float>{_mm256_scalef_ps(x.raw, n.raw)};
}
template <size_t kLanes>
HWY_INLINE hn::Vec128<float, kLanes> scaled(hn::Vec128<float, kLanes> x, hn::Vec128<float, kLanes> n) {
  return hn::Vec128<float, kLanes>{_mm_scalef_ps(x.raw, n.raw)};
}
HWY_INLINE hn::Vec512<double> scaled(hn::Vec512<double> x, hn::Vec512<double> n) {
  return hn::Vec512<double>{_mm512_scalef_pd(x.raw, n.raw)};
}
HWY_INLINE hn::Vec256<double> scaled(hn::Vec256<double> x, hn::Vec256<double> n) {
  return hn::Vec256<double>{_mm256_scalef_pd(x.raw, n.raw)};
}
template <size_t kLanes>
HWY_INLINE hn::Vec128<double, kLanes> scaled(hn::Vec128<double, kLanes> x, hn::Vec128<double, kLanes> n) {
  return hn::Vec128<double, kLanes>{_mm_scalef_pd(x.raw, n.raw)};
}

// x * 2^n, rounded once, for whole n.
template <class D, class V>
HWY_INLINE V scale_by_power(D, V x, V n) {
  return scaled(x, n);
}

// x * 2^n where 2^n is a normal number.
template <class D, class V>
HWY_INLINE V scale_by_normal_power(D, V x, const Reduced<V>& by) {
  return scaled(x, by.n);
}
// Whether scale_by_normal_power() serves for exp of all these, some of which give denormal numbers.
template <class D, class M, class V>
HWY_INLINE bool has_normal_powers(D d, M is_tiny, V) {
  return hn::AllFalse(d, is_tiny);
}

// 2^(n - 1), which is a normal number.
template <class D, class V>
HWY_INLINE V half_of_power(D d, const Reduced<V>& of) {
  return scaled(hn::Set(d, 0.5), of.n);
}
#else
// 2^n where that is a normal number, from n + kRounder: the lowest bits of its mantissa are n.
template <class D, class V>
HWY_INLINE V power_of_two(D d, V n_and_rounder) {
  using Constants = Exponential<hn::TFromD<D>>;
  using Bits = typename Constants::Bits;
  const hn::RebindToUnsigned<D> bits;
  constexpr Bits kOne = std::bit_cast<Bits>(static_cast<hn::TFromD<D>>(1));
  const auto exponent = hn::ShiftLeft<Constants::kMantissaBits>(hn::BitCast(bits, n_and_rounder));
  return hn::BitCast(d, hn::Add(exponent, hn::Set(bits, kOne)));
}

// x * 2^n, rounded once, for whole n: in two steps of which the first is exact, since 2^n itself may be no normal
// number.
template <class D, class V>
HWY_INLINE V scale_by_power(D d, V x, V n) {
  const V rounder = hn::Set(d, Exponential<hn::TFromD<D>>::kRounder);
  const V half = hn::MulAdd(n, hn::Set(d, 0.5), rounder);
  const V rest = hn::Add(hn::Sub(n, hn::Sub(half, rounder)), rounder);
  return hn::Mul(hn::Mul(x, power_of_two(d, half)), power_of_two(d, rest));
}

// x * 2^n where 2^n is a normal number.
template <class D, class V>
HWY_INLINE V scale_by_normal_power(D d, V x, const Reduced<V>& by) {
  return hn::Mul(x, power_of_two(d, by.n_and_rounder));
}
// Whether scale_by_normal_power() serves for exp of all these, some of which give denormal numbers.
template <class D, class M, class V>
HWY_INLINE bool has_normal_powers(D d, M is_tiny, V x) {
  return hn::AllFalse(d, hn::Or(is_tiny, hn::Gt(x, hn::Set(d, Exponential<hn::TFromD<D>>::kMostPower))));
}

// 2^(n - 1), which is a normal number.
template <class D, class V>
HWY_INLINE V half_of_power(D d, const Reduced<V>& of) {
  return power_of_two(d, hn::Sub(of.n_and_rounder, hn::Set(d, 1)));
}
#endif

template <class D, class V>
HWY_INLINE Reduced<V> reduced(D d, V x) {
  using Constants = Exponential<hn::TFromD<D>>;
  const V rounder = hn::Set(d, Constants::kRounder);
  const V n_and_rounder = hn::MulAdd(x, hn::Set(d, Constants::kLog2E), rounder), n = hn::Sub(n_and_rounder, rounder);
  const V high = hn::NegMulAdd(n, hn::Set(d, Constants::kLn2High), x);
  return {n, hn::NegMulAdd(n, hn::Set(d, Constants::kLn2Low), high), n_and_rounder};
}

// c2 + c3 r + ...
template <class D, class V>
HWY_INLINE V curvature(D d, V r) {
  using Constants = Exponential<hn::TFromD<D>>;
  V q = hn::Set(d, Constants::kCoefficients[0]);
  for (size_t i = 1; i < std::size(Constants::kCoefficients); ++i)
    q = hn::MulAdd(q, r, hn::Set(d, Constants::kCoefficients[i]));
  return q;
}

// x * 2^n, rounded once, where that is a denormal number or zero: which multiple of the smallest one it is, its bits
// say. Instructions whose result is denormal take some processors a hundred times as long.
template <class D, class V>
HWY_INLINE V scale_to_denormal(D d, V x, V n) {
  using Constants = Exponential<hn::TFromD<D>>;
  const hn::RebindToUnsigned<D> bits;
  const V multiple = scale_by_power(d, x, hn::Add(n, hn::Set(d, Constants::kDenormalBits)));
  const V whole = hn::Set(d, hn::TFromD<D>(typename Constants::Bits{1} << Constants::kMantissaBits));
  return hn::BitCast(d, hn::Sub(hn::BitCast(bits, hn::Add(multiple, whole)), hn::BitCast(bits, whole)));
}

// The polynomial of the reduced argument: exp(x) = 2^n times that.
template <class D, class V>
HWY_INLINE V exp_of_rest(D d, V r) {
  const V one = hn::Set(d, 1);
  return hn::MulAdd(hn::MulAdd(curvature(d, r), r, one), r, one);
}

template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  using Constants = Exponential<hn::TFromD<D>>;
  const V inside = clamped(d, x, Constants::kLeast, Constants::kMost);
  const Reduced<V> parts = reduced(d, inside);
  const V y = exp_of_rest(d, parts.r), n = parts.n;
  const auto is_tiny = hn::Lt(inside, hn::Set(d, Constants::kLeastNormal));
  if (HWY_LIKELY(has_normal_powers(d, is_tiny, inside))) return scale_by_normal_power(d, y, parts);
  return hn::IfThenElse(is_tiny, scale_to_denormal(d, y, n), scale_by_power(d, y, hn::IfThenZeroElse(is_tiny, n)));
}

// exp(x) where that is a normal number, up to kMostPower. What is less is a number below kPlain, for those who take it
// for zero.
template <class D, class V>
HWY_INLINE V plain_exp_of(D d, V x) {
  using Constants = Exponential<hn::TFromD<D>>;
  const Reduced<V> parts = reduced(d, clamped(d, x, Constants::kLeastPlain, Constants::kMostPower));
  return scale_by_normal_power(d, exp_of_rest(d, parts.r), parts);
}

// exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1), taken for half of it since 2^n may be too large. Loses the sign of zero.
template <class D, class V>
HWY_INLINE V expm1_unsigned(D d, V x) {
  const V half = hn::Set(d, 0.5);
  const Reduced<V> parts = reduced(d, x);
  const V power = half_of_power(d, parts), r = parts.r;
  const V inside = hn::MulAdd(hn::Mul(r, curvature(d, r)), r, r);
  const V y = hn::MulAdd(inside, power, hn::Sub(power, half));
  return hn::Add(y, y);
}

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
