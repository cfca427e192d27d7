#include "op/formula/special_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace headrace {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kAsymptoticFrom = 10;  // the series below reach full precision from here on

// sum of coefficients[i] * x^i
template <int n>
double polynomial(const double (&coefficients)[n], double x) {
  double sum = coefficients[n - 1];
  for (int i = n - 2; i >= 0; --i) sum = sum * x + coefficients[i];
  return sum;
}

// pi / tan(pi x), reduced first so that large x stays exact.
double pi_cotangent(double x) {
  const double r = x - std::round(x);
  return std::numbers::pi / std::tan(std::numbers::pi * r);
}

// A start for Newton's iteration: Winitzki's closed form, good to three digits.
double inverse_erf_guess(double x) {
  const double a = 0.147;
  const double l = std::log1p(-x * x);
  const double t = 2 / (std::numbers::pi * a) + l / 2;
  return std::copysign(std::sqrt(std::sqrt(t * t - l / a) - t), x);
}

}  // namespace

double inverse_erf(double x) noexcept {
  if (!(std::fabs(x) < 1)) return std::fabs(x) == 1 ? std::copysign(kInfinity, x) : kNotANumber;
  if (x == 0) return x;
  const double half_sqrt_pi = std::sqrt(std::numbers::pi) / 2;
  if (std::fabs(x) < 1e-8) return half_sqrt_pi * x;
  double y = inverse_erf_guess(x);
  const bool in_tail = std::fabs(x) > 0.5;  // where erfc keeps the digits that erf has lost
  for (int i = 0; i < 3; ++i) {             // Halley's iteration
    const double tail_error = (1 - std::fabs(x)) - std::erfc(std::fabs(y));
    const double error = in_tail ? std::copysign(1.0, x) * tail_error : std::erf(y) - x;
    const double step = error * half_sqrt_pi * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return y;
}

double digamma(double x) noexcept {
  if (std::isnan(x) || x == kInfinity) return x;
  if (x == -kInfinity) return kNotANumber;
  if (x <= 0) {
    if (x == std::floor(x)) return kInfinity;
    return digamma(1 - x) - pi_cotangent(x);
  }
  double shift = 0;
  for (; x < kAsymptoticFrom; x += 1) shift += 1 / x;
  constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
  const double inverse = 1 / (x * x);
  return std::log(x) - 0.5 / x - inverse * polynomial(kSeries, inverse) - shift;
}

double trigamma(double x) noexcept {
  if (std::isnan(x)) return x;
  if (x == kInfinity) return 0;
  if (x == -kInfinity) return kNotANumber;
  if (x <= 0) {
    if (x == std::floor(x)) return kInfinity;
    const double s = std::sin(std::numbers::pi * (x - std::round(x))) / std::numbers::pi;
    return 1 / (s * s) - trigamma(1 - x);
  }
  double shift = 0;
  for (; x < kAsymptoticFrom; x += 1) shift += 1 / (x * x);
  constexpr double kSeries[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
  const double inverse = 1 / (x * x);
  return (1 + 0.5 / x + inverse * polynomial(kSeries, inverse)) / x + shift;
}

double log_gamma(double x) noexcept {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

}  // namespace headrace
