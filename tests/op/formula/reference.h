// What instructions mean, written a second time for tests: in long double for the float types and in wide integers for
// the integer types, with nothing shared with the code under test.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "op/formula/opcode.h"

namespace headrace::test {

inline long double reference_digamma(long double x) {
  if (std::isnan(x)) return x;
  if (x == -INFINITY) return NAN;
  if (x <= 0) {
    if (x == std::floor(x)) return INFINITY;
    const long double r = x - std::round(x);
    return reference_digamma(1 - x) - M_PIl / std::tan(M_PIl * r);
  }
  long double sum = 0;
  for (; x < 40; ++x) sum -= 1 / x;
  const long double i = 1 / (x * x);
  return sum + std::log(x) - 0.5L / x - i * (1 / 12.0L - i * (1 / 120.0L - i * (1 / 252.0L - i / 240)));
}

inline long double reference_trigamma(long double x) {
  if (std::isnan(x)) return x;
  if (x == -INFINITY) return NAN;
  if (x == INFINITY) return 0;
  if (x <= 0) {
    if (x == std::floor(x)) return INFINITY;
    const long double s = std::sin(M_PIl * (x - std::round(x)));
    return M_PIl * M_PIl / (s * s) - reference_trigamma(1 - x);
  }
  long double sum = 0;
  for (; x < 40; ++x) sum += 1 / (x * x);
  const long double i = 1 / (x * x);
  return sum + (1 + 0.5L / x + i * (1 / 6.0L - i * (1 / 30.0L - i * (1 / 42.0L - i / 30)))) / x;
}

// By bisection of erf.
inline long double reference_erfinv(long double x) {
  if (!(std::fabs(x) <= 1)) return NAN;
  if (std::fabs(x) == 1) return std::copysign(INFINITY, x);
  if (std::fabs(x) < 1e-5L) return x * std::sqrt(M_PIl) / 2 * (1 + M_PIl / 12 * x * x);
  const long double target = std::fabs(x);
  long double low = 0, high = 7;
  for (int i = 0; i < 80; ++i) {
    const long double middle = (low + high) / 2;
    const bool below = target > 0.5L ? std::erfc(middle) > 1 - target : std::erf(middle) < target;
    (below ? low : high) = middle;
  }
  return std::copysign((low + high) / 2, x);
}

inline long double reference_mod(long double a, long double b) {
  const long double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0L, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

using Unary = long double (*)(long double);

inline const std::map<Opcode, Unary> kUnary = {
    {Opcode::kCopy, [](long double x) -> long double { return x; }},
    {Opcode::kNeg, [](long double x) -> long double { return -x; }},
    {Opcode::kAbs, [](long double x) -> long double { return std::fabs(x); }},
    {Opcode::kSign,
     [](long double x) -> long double { return x == 0          ? 0
                                               : std::isnan(x) ? x
                                                               : std::copysign(1.0L, x); }},
    {Opcode::kSqrt, [](long double x) -> long double { return std::sqrt(x); }},
    {Opcode::kRsqrt, [](long double x) -> long double { return 1 / std::sqrt(x); }},
    {Opcode::kCbrt, [](long double x) -> long double { return std::cbrt(x); }},
    {Opcode::kRcbrt, [](long double x) -> long double { return 1 / std::cbrt(x); }},
    {Opcode::kSquare, [](long double x) -> long double { return x * x; }},
    {Opcode::kExp, [](long double x) -> long double { return std::exp(x); }},
    {Opcode::kExp2, [](long double x) -> long double { return std::exp2(x); }},
    {Opcode::kExpm1, [](long double x) -> long double { return std::expm1(x); }},
    {Opcode::kLog, [](long double x) -> long double { return std::log(x); }},
    {Opcode::kLog2, [](long double x) -> long double { return std::log2(x); }},
    {Opcode::kLog10, [](long double x) -> long double { return std::log10(x); }},
    {Opcode::kLog1p, [](long double x) -> long double { return std::log1p(x); }},
    {Opcode::kSin, [](long double x) -> long double { return std::sin(x); }},
    {Opcode::kCos, [](long double x) -> long double { return std::cos(x); }},
    {Opcode::kTan, [](long double x) -> long double { return std::tan(x); }},
    {Opcode::kAsin, [](long double x) -> long double { return std::asin(x); }},
    {Opcode::kAcos, [](long double x) -> long double { return std::acos(x); }},
    {Opcode::kAtan, [](long double x) -> long double { return std::atan(x); }},
    {Opcode::kSinh, [](long double x) -> long double { return std::sinh(x); }},
    {Opcode::kCosh, [](long double x) -> long double { return std::cosh(x); }},
    {Opcode::kTanh, [](long double x) -> long double { return std::tanh(x); }},
    {Opcode::kAsinh, [](long double x) -> long double { return std::asinh(x); }},
    {Opcode::kAcosh, [](long double x) -> long double { return std::acosh(x); }},
    {Opcode::kAtanh, [](long double x) -> long double { return std::atanh(x); }},
    {Opcode::kErf, [](long double x) -> long double { return std::erf(x); }},
    {Opcode::kErfinv, &reference_erfinv},
    {Opcode::kGamma, [](long double x) -> long double { return std::tgamma(x); }},
    {Opcode::kLgamma, [](long double x) -> long double { return std::lgamma(x); }},
    {Opcode::kDigamma, &reference_digamma},
    {Opcode::kTrigamma, &reference_trigamma},
    {Opcode::kFloor, [](long double x) -> long double { return std::floor(x); }},
    {Opcode::kCeil, [](long double x) -> long double { return std::ceil(x); }},
    {Opcode::kTrunc, [](long double x) -> long double { return std::trunc(x); }},
    {Opcode::kRound, [](long double x) -> long double { return std::round(x); }},
    {Opcode::kRint, [](long double x) -> long double { return std::rint(x); }},
    {Opcode::kRintDown, [](long double x) -> long double { return std::copysign(std::ceil(x - 0.5L), x); }},
    {Opcode::kLogicalNot, [](long double x) -> long double { return x == 0; }},
    {Opcode::kIsNan, [](long double x) -> long double { return std::isnan(x); }},
    {Opcode::kIsInf, [](long double x) -> long double { return std::isinf(x); }},
    {Opcode::kIsFinite, [](long double x) -> long double { return std::isfinite(x); }},
    {Opcode::kToBool, [](long double x) -> long double { return x != 0; }},
};

inline long double reference_unary(Opcode op, long double x) {
  const auto meaning = kUnary.find(op);
  return meaning == kUnary.end() ? NAN : meaning->second(x);
}

inline long double reference_binary(Opcode op, long double a, long double b) {
  using enum Opcode;
  switch (op) {
    case kAdd:
      return a + b;
    case kSub:
      return a - b;
    case kMul:
      return a * b;
    case kDiv:
      return a / b;
    case kMod:
      return reference_mod(a, b);
    case kFmod:
      return std::fmod(a, b);
    case kPow:
      return std::pow(a, b);
    case kMin:
      return std::isnan(a) || std::isnan(b) ? NAN : b < a ? b : a;
    case kMax:
      return std::isnan(a) || std::isnan(b) ? NAN : b > a ? b : a;
    case kHypot:
      return std::hypot(a, b);
    case kAtan2:
      return std::atan2(a, b);
    case kCopysign:
      return std::copysign(a, b);
    case kLdexp:
      return (a == 0 || std::isinf(a)) && !std::isnan(b) ? a : a * std::exp2(b);
    case kEq:
      return a == b;
    case kNe:
      return a != b;
    case kLt:
      return a < b;
    case kLe:
      return a <= b;
    case kLogicalAnd:
      return a != 0 && b != 0;
    case kLogicalOr:
      return a != 0 || b != 0;
    case kLogicalXor:
      return (a != 0) != (b != 0);
    default:
      return NAN;
  }
}

// Holds products of two; of unsigned ones so that what wraps it wraps alike.
template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;

// Wraps to the width of T.
template <class T>
T wrap(Wide<T> value) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(value));
}

template <class W>
W euclid(W x, W y) {
  while (y != 0) x = std::exchange(y, x % y);
  return x < 0 ? -x : x;
}

template <class T>
T reference_integer_power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? (exponent % 2 == 0 ? 1 : T(-1)) : 0;
  T result = 1;
  for (T i = 0; i < exponent % 1024; ++i) result = wrap<T>(Wide<T>{result} * base);
  return result;
}

template <class T>
T reference_integer_bits(Opcode op, T a, T b) {
  using enum Opcode;
  const Wide<T> x = a, y = b;
  constexpr int kWidth = sizeof(T) * 8;
  switch (op) {
    case kBitNot:
      return wrap<T>(-x - 1);
    case kBitAnd:
      return a & b;
    case kBitOr:
      return a | b;
    case kBitXor:
      return a ^ b;
    case kShiftLeft:
      return y < 0 || y >= kWidth ? 0 : wrap<T>(static_cast<Wide<T>>(static_cast<unsigned __int128>(x) << y));
    case kShiftRight:
      return y < 0 || y >= kWidth ? (x < 0 ? -1 : 0) : wrap<T>(x >> y);
    case kToInt8:
      return static_cast<int8_t>(a);
    case kToUint8:
      return static_cast<uint8_t>(a);
    case kToInt16:
      return static_cast<int16_t>(a);
    case kToUint16:
      return static_cast<uint16_t>(a);
    case kToInt32:
      return static_cast<int32_t>(a);
    case kToUint32:
      return static_cast<T>(static_cast<uint32_t>(a));
    default:
      return 0;  // isnan, isinf
  }
}

template <class T>
T reference_integer_logic(Opcode op, T a, T b) {
  using enum Opcode;
  switch (op) {
    case kEq:
      return a == b;
    case kNe:
      return a != b;
    case kLt:
      return a < b;
    case kLe:
      return a <= b;
    case kLogicalAnd:
      return a && b;
    case kLogicalOr:
      return a || b;
    case kLogicalXor:
      return !a != !b;
    case kLogicalNot:
      return !a;
    case kToBool:
      return a != 0;
    case kIsFinite:
      return 1;
    default:
      return reference_integer_bits(op, a, b);
  }
}

template <class T>
T reference_integer(Opcode op, T a, T b, T c) {
  using enum Opcode;
  const Wide<T> x = a, y = b;
  if (op == kCopy || (op >= kFloor && op <= kRintDown)) return a;
  if (op == kSelect) return a != 0 ? b : c;
  const Wide<T> z = c;
  if (op == kMulAdd) return wrap<T>(x * y + z);
  if (op == kMulSub) return wrap<T>(x * y - z);
  if (op == kRsubMul) return wrap<T>(z - x * y);
  if (op == kAddMul) return wrap<T>(Wide<T>{wrap<T>(x + y)} * z);
  if (op == kSubMul) return wrap<T>(Wide<T>{wrap<T>(x - y)} * z);
  switch (op) {
    case kNeg:
      return wrap<T>(-x);
    case kAbs:
      return wrap<T>(x < 0 ? -x : x);
    case kSign:
      return (x > 0) - (x < 0);
    case kSquare:
      return wrap<T>(x * x);
    case kAdd:
      return wrap<T>(x + y);
    case kSub:
      return wrap<T>(x - y);
    case kMul:
      return wrap<T>(x * y);
    case kDiv:
      return y == 0 ? 0 : wrap<T>(x / y);
    case kFmod:
      return y == 0 ? 0 : wrap<T>(x % y);
    case kMod:
      return y == 0 ? 0 : wrap<T>((x % y + y) % y);
    case kPow:
      return reference_integer_power(a, b);
    case kMin:
      return a < b ? a : b;
    case kMax:
      return a > b ? a : b;
    case kGcd:
      return wrap<T>(euclid(x, y));
    case kLcm:
      return x == 0 || y == 0 ? 0 : wrap<T>((x < 0 ? -x : x) / euclid(x, y) * (y < 0 ? -y : y));
    default:
      return reference_integer_logic(op, a, b);
  }
}

// How many representable values lie between two floats; 0 for two NaNs, huge for one.
template <class T>
uint64_t ulps_apart(T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y) ? 0 : ~uint64_t{0};
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const auto place = [](T v) -> __int128 {
    const auto bits = std::bit_cast<Bits>(v);
    return bits < 0 ? -static_cast<__int128>(bits & std::numeric_limits<Bits>::max()) : static_cast<__int128>(bits);
  };
  const __int128 gap = place(x) - place(y);
  return static_cast<uint64_t>(gap < 0 ? -gap : gap);
}

}  // namespace headrace::test
