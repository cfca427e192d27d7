// What each instruction means for one value: `apply<op>(a, b, c)`. The vector kernels must agree with it; constants
// are folded with it, and it computes whatever has no vector kernel.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

#include "op/formula/numeric_cast.h"
#include "op/formula/opcode.h"
#include "op/formula/special_functions.h"

namespace headrace {

// One instruction on doubles, chosen at run time.
double evaluate(Opcode opcode, double a, double b, double c);

namespace scalar {

enum class Family { kArithmetic, kDivision, kElementary, kRounding, kLogic, kBits, kNarrowing };

constexpr Family family_of(Opcode op) {
  using enum Opcode;
  if (op == kDiv || op == kMod || op == kFmod || op == kPow) return Family::kDivision;
  if (op >= kFloor && op <= kRintDown) return Family::kRounding;
  if (op == kBitNot || (op >= kBitAnd && op <= kLcm)) return Family::kBits;
  if (op == kLogicalNot || op == kIsNan || op == kIsInf || op == kIsFinite) return Family::kLogic;
  if (op >= kEq && op <= kLogicalXor) return Family::kLogic;
  if (op >= kToFloat16 && op <= kToBool) return Family::kNarrowing;
  if (op == kHypot || op == kAtan2 || op == kCopysign || op == kLdexp) return Family::kElementary;
  if (op >= kSqrt && op <= kTrigamma && op != kSquare) return Family::kElementary;
  return Family::kArithmetic;
}

template <class T>
using Unsigned = std::make_unsigned_t<T>;

// What functions are computed in: double, but float for float on a GPU, where double costs up to 64 times as much.
#ifdef __CUDACC_RTC__
template <class T>
using Precise = std::conditional_t<std::is_same_v<T, float>, float, double>;
#else
template <class T>
using Precise = double;
#endif

// Integer arithmetic wraps: done unsigned, where overflow is defined.
template <Opcode op, class T>
inline T arithmetic(T a, T b, T c) noexcept {
  using enum Opcode;
  if constexpr (op == kSelect) {
    return a != T{0} ? b : c;
  } else if constexpr (op == kMulAdd) {
    return arithmetic<kAdd>(arithmetic<kMul>(a, b, T{}), c, T{});
  } else if constexpr (op == kMulSub) {
    return arithmetic<kSub>(arithmetic<kMul>(a, b, T{}), c, T{});
  } else if constexpr (op == kRsubMul) {
    return arithmetic<kSub>(c, arithmetic<kMul>(a, b, T{}), T{});
  } else if constexpr (op == kAddMul) {
    return arithmetic<kMul>(arithmetic<kAdd>(a, b, T{}), c, T{});
  } else if constexpr (op == kSubMul) {
    return arithmetic<kMul>(arithmetic<kSub>(a, b, T{}), c, T{});
  } else if constexpr (op == kMin) {
    return a <= b || a != a ? a : b;
  } else if constexpr (op == kMax) {
    return a >= b || a != a ? a : b;
  } else if constexpr (op == kSign) {
    return a > T{0} ? T{1} : a < T{0} ? T(-1) : a == T{0} ? T{0} : a;
  } else if constexpr (op == kCopy) {
    return a;
  } else if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<Unsigned<T>>(a), y = static_cast<Unsigned<T>>(b);
    if constexpr (op == kNeg) return static_cast<T>(Unsigned<T>{0} - x);
    if constexpr (op == kAbs) return a < 0 ? static_cast<T>(Unsigned<T>{0} - x) : a;
    if constexpr (op == kSquare) return static_cast<T>(x * x);
    if constexpr (op == kAdd) return static_cast<T>(x + y);
    if constexpr (op == kSub) return static_cast<T>(x - y);
    if constexpr (op == kMul) return static_cast<T>(x * y);
  } else {
    if constexpr (op == kNeg) return -a;
    if constexpr (op == kAbs) return std::fabs(a);
    if constexpr (op == kSquare) return a * a;
    if constexpr (op == kAdd) return a + b;
    if constexpr (op == kSub) return a - b;
    if constexpr (op == kMul) return a * b;
  }
}

template <class T>
inline T integer_power(T base, T exponent) noexcept {
  if (std::is_signed_v<T> && exponent < 0) {
    if (base == 1) return 1;
    return base == T(-1) ? ((exponent & 1) != 0 ? T(-1) : T{1}) : T{0};
  }
  Unsigned<T> result = 1, factor = static_cast<Unsigned<T>>(base);
  for (auto e = static_cast<Unsigned<T>>(exponent); e != 0; e >>= 1) {
    if ((e & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

template <class T>
inline T python_mod(T a, T b) noexcept {
  T r = std::fmod(a, b);
  if (r == T{0}) return std::copysign(T{0}, b);
  return (b < T{0}) != (r < T{0}) ? r + b : r;
}

template <Opcode op, class T>
inline T division(T a, T b) noexcept {
  using enum Opcode;
  if constexpr (std::is_integral_v<T>) {
    if constexpr (op == kPow) return integer_power(a, b);
    if (b == 0) return 0;
    if (std::is_signed_v<T> && b == T(-1))
      return op == kDiv ? static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a)) : T{0};
    if constexpr (op == kDiv) return static_cast<T>(a / b);
    const T r = static_cast<T>(a % b);
    if constexpr (op == kFmod) return r;
    return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
  } else {
    if constexpr (op == kDiv) return a / b;
    if constexpr (op == kMod) return python_mod(a, b);
    if constexpr (op == kFmod) return std::fmod(a, b);
    if constexpr (op == kPow) return static_cast<T>(std::pow(static_cast<Precise<T>>(a), static_cast<Precise<T>>(b)));
  }
}

// a * 2^b, also for a fractional b.
inline double scale_by_power_of_two(double a, double b) noexcept {
  if (std::isnan(b)) return b;
  const int whole = static_cast<int>(std::fmax(-5000.0, std::fmin(5000.0, b)));
  const double fraction = std::fabs(b) < 5000 ? std::exp2(b - whole) : 1;
  // In the order that neither overflows nor drops digits on the way.
  return b > 0 ? std::ldexp(a, whole) * fraction : std::ldexp(a * fraction, whole);
}

template <Opcode op, class P>
inline P hyperbolic(P x) noexcept {
  using enum Opcode;
  if constexpr (op == kSinh) return std::sinh(x);
  if constexpr (op == kCosh) return std::cosh(x);
  if constexpr (op == kTanh) return std::tanh(x);
  if constexpr (op == kAsinh) return std::asinh(x);
  if constexpr (op == kAcosh) return std::acosh(x);
  if constexpr (op == kAtanh) return std::atanh(x);
}

template <Opcode op, class P>
inline P trigonometric(P x) noexcept {
  using enum Opcode;
  if constexpr (op == kSin) return std::sin(x);
  if constexpr (op == kCos) return std::cos(x);
  if constexpr (op == kTan) return std::tan(x);
  if constexpr (op == kAsin) return std::asin(x);
  if constexpr (op == kAcos) return std::acos(x);
  if constexpr (op == kAtan) return std::atan(x);
}

template <Opcode op, class P>
inline P elementary(P a, P b) noexcept {
  using enum Opcode;
  if constexpr (op >= kSin && op <= kAtan) return trigonometric<op>(a);
  if constexpr (op >= kSinh && op <= kAtanh) return hyperbolic<op>(a);
  if constexpr (op == kSqrt) return std::sqrt(a);
  if constexpr (op == kRsqrt) return 1 / std::sqrt(a);
  if constexpr (op == kCbrt) return std::cbrt(a);
  if constexpr (op == kRcbrt) return 1 / std::cbrt(a);
  if constexpr (op == kExp) return std::exp(a);
  if constexpr (op == kExp2) return std::exp2(a);
  if constexpr (op == kExpm1) return std::expm1(a);
  if constexpr (op == kLog) return std::log(a);
  if constexpr (op == kLog2) return std::log2(a);
  if constexpr (op == kLog10) return std::log10(a);
  if constexpr (op == kLog1p) return std::log1p(a);
  if constexpr (op == kErf) return std::erf(a);
  if constexpr (op == kErfinv) return static_cast<P>(inverse_erf(a));
  if constexpr (op == kGamma) return std::tgamma(a);
  if constexpr (op == kLgamma) return static_cast<P>(log_gamma(a));
  if constexpr (op == kDigamma) return static_cast<P>(digamma(a));
  if constexpr (op == kTrigamma) return static_cast<P>(trigamma(a));
  if constexpr (op == kHypot) return std::hypot(a, b);
  if constexpr (op == kAtan2) return std::atan2(a, b);
  if constexpr (op == kCopysign) return std::copysign(a, b);
  if constexpr (op == kLdexp) return static_cast<P>(scale_by_power_of_two(a, b));
}

template <Opcode op, class T>
inline T rounding(T x) noexcept {
  using enum Opcode;
  if constexpr (std::is_integral_v<T>) {
    return x;
  } else {
    if constexpr (op == kFloor) return std::floor(x);
    if constexpr (op == kCeil) return std::ceil(x);
    if constexpr (op == kTrunc) return std::trunc(x);
    if constexpr (op == kRound) return std::round(x);
    if constexpr (op == kRint) return std::nearbyint(x);
    if constexpr (op == kRintDown) return x - std::floor(x) <= std::ceil(x) - x ? std::floor(x) : std::ceil(x);
  }
}

template <Opcode op, class T>
inline bool truth(T a, T b) noexcept {
  using enum Opcode;
  if constexpr (op == kEq) return a == b;
  if constexpr (op == kNe) return a != b;
  if constexpr (op == kLt) return a < b;
  if constexpr (op == kLe) return a <= b;
  if constexpr (op == kLogicalAnd) return a != T{0} && b != T{0};
  if constexpr (op == kLogicalOr) return a != T{0} || b != T{0};
  if constexpr (op == kLogicalXor) return (a != T{0}) != (b != T{0});
  if constexpr (op == kLogicalNot) return a == T{0};
  if constexpr (op == kIsNan) return a != a;
  if constexpr (std::is_integral_v<T>) {
    return op == kIsFinite;
  } else {
    if constexpr (op == kIsInf) return std::fabs(a) == std::numeric_limits<T>::infinity();
    if constexpr (op == kIsFinite) return std::fabs(a) < std::numeric_limits<T>::infinity();
  }
}

// A shift by less than 0 or by the width or more drops every bit.
template <Opcode op, class T>
inline T bits(T a, T b) noexcept {
  using enum Opcode;
  constexpr T kWidth = sizeof(T) * 8;
  const auto x = static_cast<Unsigned<T>>(a);
  if constexpr (op == kBitNot) return static_cast<T>(~a);
  if constexpr (op == kBitAnd) return static_cast<T>(a & b);
  if constexpr (op == kBitOr) return static_cast<T>(a | b);
  if constexpr (op == kBitXor) return static_cast<T>(a ^ b);
  if constexpr (op == kShiftLeft) return b < 0 || b >= kWidth ? T{0} : static_cast<T>(x << b);
  if constexpr (op == kShiftRight)
    return b < 0 || b >= kWidth ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);
  if constexpr (op == kGcd || op == kLcm) {
    const auto magnitude = [](T v) {
      const auto u = static_cast<Unsigned<T>>(v);
      return v < 0 ? Unsigned<T>{0} - u : u;
    };
    const Unsigned<T> m = magnitude(a), n = magnitude(b), g = std::gcd(m, n);
    if constexpr (op == kGcd) return static_cast<T>(g);
    return g == 0 ? T{0} : static_cast<T>(m / g * n);
  }
}

template <Opcode op, class T>
inline T narrowing(T x) noexcept {
  using enum Opcode;
  const auto through = [x]<class Storage>(Storage) { return numeric_cast<T>(numeric_cast<Storage>(x)); };
  if constexpr (op == kToInt8) return through(int8_t{});
  if constexpr (op == kToUint8) return through(uint8_t{});
  if constexpr (op == kToInt16) return through(int16_t{});
  if constexpr (op == kToUint16) return through(uint16_t{});
  if constexpr (op == kToBool) return through(bool{});
  if constexpr (op == kToFloat16) return through(Float16{});
  if constexpr (op == kToBfloat16) return through(Bfloat16{});
  if constexpr (op == kToFloat32) return through(float{});
  if constexpr (op == kToInt32) return through(int32_t{});
  if constexpr (op == kToUint32) return sizeof(T) == 4 && std::is_integral_v<T> ? x : through(uint32_t{});
}

template <Opcode op, class T>
inline T apply(T a, T b, T c) noexcept {
  constexpr Family kFamily = family_of(op);
  if constexpr (kFamily == Family::kArithmetic) return arithmetic<op>(a, b, c);
  if constexpr (kFamily == Family::kDivision) return division<op>(a, b);
  if constexpr (kFamily == Family::kRounding) return rounding<op>(a);
  if constexpr (kFamily == Family::kLogic) return static_cast<T>(truth<op>(a, b));
  if constexpr (kFamily == Family::kNarrowing) return narrowing<op>(a);
  if constexpr (kFamily == Family::kElementary)
    return numeric_cast<T>(elementary<op>(static_cast<Precise<T>>(a), static_cast<Precise<T>>(b)));
  if constexpr (kFamily == Family::kBits) {
    if constexpr (std::is_integral_v<T>) return bits<op>(a, b);
    return static_cast<T>(bits<op>(numeric_cast<int64_t>(a), numeric_cast<int64_t>(b)));
  }
}

}  // namespace scalar
}  // namespace headrace
