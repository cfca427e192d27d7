// What the sources shared with the host use of the standard library, for NVRTC, which has none. It takes the place of
// every standard header.
#pragma once

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;
using size_t = decltype(sizeof(0));

inline double lgamma_r(double x, int*) { return ::lgamma(x); }

namespace std {

using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;

using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atan2;
using ::atanh;
using ::cbrt;
using ::ceil;
using ::copysign;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::exp2;
using ::expm1;
using ::fabs;
using ::floor;
using ::fmax;
using ::fmin;
using ::fmod;
using ::hypot;
using ::isnan;
using ::ldexp;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::nearbyint;
using ::pow;
using ::round;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;
using ::tgamma;
using ::trunc;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class T, class... Others>
inline constexpr bool is_one_of_v = (is_same_v<T, Others> || ...);
template <class T>
inline constexpr bool is_floating_point_v = is_one_of_v<T, float, double>;
template <class T>
inline constexpr bool is_integral_v = is_one_of_v<T, bool, char, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, long,
                                                  unsigned long, int64_t, uint64_t>;
template <class T>
inline constexpr bool is_signed_v = T(-1) < T(0);

template <bool choice, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool choice, class A, class B>
using conditional_t = typename conditional<choice, A, B>::type;

template <class T>
using make_unsigned_t = conditional_t<
    sizeof(T) == 8, uint64_t,
    conditional_t<sizeof(T) == 4, uint32_t, conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

template <class To, class From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

template <class T>
struct numeric_limits {  // of integers
  static constexpr T min() { return is_signed_v<T> ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0}; }
  static constexpr T max() { return static_cast<T>(~min()); }
};
template <>
struct numeric_limits<float> {
  static constexpr float infinity() { return bit_cast<float>(0x7f800000u); }
  static constexpr float quiet_NaN() { return bit_cast<float>(0x7fc00000u); }
};
template <>
struct numeric_limits<double> {
  static constexpr double infinity() { return bit_cast<double>(0x7ff0000000000000ull); }
  static constexpr double quiet_NaN() { return bit_cast<double>(0x7ff8000000000000ull); }
};

template <class T>
inline T gcd(T a, T b) {  // of unsigned values
  while (b != 0) {
    const T rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

namespace numbers {
inline constexpr double pi = 3.141592653589793238462643383279502884;
}

class string_view {};  // only named

}  // namespace std
