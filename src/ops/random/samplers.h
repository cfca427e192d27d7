// Samplers of the distributions, and the variates that they are built from, over any stream of 32-bit random words:
// called, it gives the next one. They compute in double. Read by the compilers of host and device.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "op/formula/special_functions.h"

namespace headrace {

enum class Distribution : uint8_t {
  kUniform,                      // low, high
  kNormal,                       // mean, standard deviation
  kExponential,                  // rate
  kGamma,                        // shape, scale
  kBeta,                         // a, b
  kChisquare,                    // degrees of freedom
  kPoisson,                      // mean
  kNegativeBinomial,             // number of failures, probability of success
  kGeneralizedNegativeBinomial,  // mean, dispersion
  kBernoulli,                    // probability
  kGumbel,                       // location, scale
  kLaplace,                      // location, scale
  kLogistic,                     // location, scale
  kPareto,                       // shape
  kPower,                        // shape
  kRayleigh,                     // scale
  kWeibull,                      // shape
};

// Whether a distribution has these parameters. `as_np`: for a function of np, whose gamma distribution has none of 0.
inline bool has_parameters(Distribution kind, bool as_np, const double* p) {
  switch (kind) {
    case Distribution::kUniform:
      return true;
    case Distribution::kNormal:
    case Distribution::kGumbel:
    case Distribution::kLaplace:
    case Distribution::kLogistic:
      return !(p[1] < 0);
    case Distribution::kGamma:
      return as_np ? p[0] > 0 && p[1] > 0 : p[0] >= 0 && p[1] >= 0;
    case Distribution::kBeta:
      return p[0] > 0 && p[1] > 0;
    case Distribution::kGeneralizedNegativeBinomial:
      return p[0] >= 0 && p[1] >= 0;
    case Distribution::kNegativeBinomial:
      return p[0] >= 0 && p[1] > 0 && p[1] <= 1;
    case Distribution::kBernoulli:
      return p[0] >= 0 && p[0] <= 1;
    case Distribution::kPoisson:
    case Distribution::kRayleigh:
      return p[0] >= 0;
    default:
      return p[0] > 0;
  }
}

// A 63-bit number from two words, as MXNet makes it.
template <class Stream>
uint64_t wide_word(Stream& stream) {
  const uint64_t high = static_cast<uint32_t>(stream());
  return (high << 31) + static_cast<uint32_t>(stream());
}

// Uniform in [0, 1), from one word (float) or two (double), as the C++ standard library makes it of mt19937.
template <class Real, class Stream>
Real uniform01(Stream& stream) {
  if constexpr (std::is_same_v<Real, float>) {
    constexpr float kBelowOne = 0x1.fffffep-1f;
    const float value = static_cast<float>(static_cast<uint32_t>(stream())) * 0x1p-32f;
    return value < 1 ? value : kBelowOne;
  } else {
    constexpr double kBelowOne = 0x1.fffffffffffffp-1;
    const double low = static_cast<uint32_t>(stream());
    const double high = static_cast<uint32_t>(stream());
    const double value = (low + high * 0x1p32) * 0x1p-64;
    return value < 1 ? value : kBelowOne;
  }
}

// Uniform in [0, total), where `total` is what probabilities have together, up to rounding 1, or weights.
template <class Real, class Stream>
double uniform_below_sum(Stream& stream, double total) {
  return uniform01<Real>(stream) * (std::fabs(total - 1) < 1e-5 ? 1 : total);
}

// Marsaglia's polar method: two normals from uniforms.
template <class Real>
struct NormalPair {
  Real first, second;
};

template <class Real, class Stream>
NormalPair<Real> normal_pair(Stream& stream) {
  Real x, y, r2;
  do {
    x = 2 * uniform01<Real>(stream) - 1;
    y = 2 * uniform01<Real>(stream) - 1;
    r2 = x * x + y * y;
  } while (r2 > 1 || r2 == 0);
  const Real scale = std::sqrt(-2 * std::log(r2) / r2);
  return {y * scale, x * scale};
}

template <class Real, class Stream>
Real normal01(Stream& stream) {
  return normal_pair<Real>(stream).first;
}

namespace samplers {

inline constexpr double kBelowOne = 1 - 0x1p-53;

// In (0, 1], safe to take the logarithm of.
template <class Stream>
double positive(Stream& stream) {
  return 1 - uniform01<double>(stream);
}

// The same, but below 1, so that the logarithm is not 0.
template <class Stream>
double inside(Stream& stream) {
  const double u = positive(stream);
  return u < kBelowOne ? u : kBelowOne;
}

// Where a parameter is so large that a method never ends, infinity among them, the distribution is narrower than the
// step to the next number.
inline constexpr double kNarrow = 0x1p200;

// Marsaglia and Tsang's method; shapes below 1 by the usual boost.
template <class Stream>
double gamma(Stream& stream, double shape) {
  if (!(shape < kNarrow)) return shape;
  const bool is_boosted = shape < 1;
  const double of = is_boosted ? shape + 1 : shape, d = of - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    double x, v;
    do {
      x = normal01<double>(stream);
      v = 1 + c * x;
    } while (v <= 0);
    v = v * v * v;
    const double u = positive(stream);
    if (!(std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v)))) continue;
    return is_boosted ? d * v * std::pow(positive(stream), 1 / shape) : d * v;
  }
}

// Multiplication for small means, Hoermann's transformed rejection (PTRS) for large ones.
template <class Stream>
double poisson(Stream& stream, double mean) {
  if (mean == 0) return 0;
  if (!(mean < kNarrow)) return mean;
  if (mean < 12) {
    const double limit = std::exp(-mean);
    double product = positive(stream);
    int64_t count = 0;
    for (; product > limit; ++count) product *= positive(stream);
    return static_cast<double>(count);
  }
  const double log_mean = std::log(mean), b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = uniform01<double>(stream) - 0.5, v = positive(stream);
    const double us = 0.5 - std::fabs(u), k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= accept) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <= -mean + k * log_mean - log_gamma(k + 1))
      return k;
  }
}

template <class Stream>
double draw(Distribution kind, Stream& stream, const double* p) {
  switch (kind) {
    case Distribution::kUniform:
      return p[0] + (p[1] - p[0]) * uniform01<float>(stream);
    case Distribution::kNormal:
      return p[0] + p[1] * normal01<float>(stream);
    case Distribution::kExponential:
      return -std::log(positive(stream)) / p[0];
    case Distribution::kGamma:
      return gamma(stream, p[0]) * p[1];
    case Distribution::kBeta: {
      const double x = gamma(stream, p[0]), y = gamma(stream, p[1]);
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (x == kInfinity && y == kInfinity) return 0.5;
      return x == kInfinity ? 1 : x / (x + y);
    }
    case Distribution::kChisquare:
      return 2 * gamma(stream, p[0] / 2);
    case Distribution::kPoisson:
      return poisson(stream, p[0]);
    case Distribution::kNegativeBinomial:
      return poisson(stream, gamma(stream, p[0]) * (1 - p[1]) / p[1]);
    case Distribution::kGeneralizedNegativeBinomial:
      return p[1] == 0 ? poisson(stream, p[0]) : poisson(stream, gamma(stream, 1 / p[1]) * p[0] * p[1]);
    case Distribution::kBernoulli:
      return uniform01<float>(stream) < p[0];
    case Distribution::kGumbel:
      return p[0] - p[1] * std::log(-std::log(inside(stream)));
    case Distribution::kLaplace: {
      const double u = uniform01<double>(stream) - 0.5, away = std::fabs(u);
      const double depth = -std::log1p(-2 * (away < 0.5 - 0x1p-53 ? away : 0.5 - 0x1p-53));
      return p[0] + p[1] * std::copysign(depth, u);
    }
    case Distribution::kLogistic: {
      const double u = inside(stream);
      return p[0] + p[1] * (std::log(u) - std::log1p(-u));
    }
    case Distribution::kPareto:
      return std::expm1(-std::log(positive(stream)) / p[0]);
    case Distribution::kPower:
      return std::pow(uniform01<double>(stream), 1 / p[0]);
    case Distribution::kRayleigh:
      return p[0] * std::sqrt(-2 * std::log(positive(stream)));
    case Distribution::kWeibull:
      return std::pow(-std::log(positive(stream)), 1 / p[0]);
  }
  return 0;
}

}  // namespace samplers
}  // namespace headrace
