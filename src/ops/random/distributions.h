// Samplers of the distributions, over any stream of 32-bit random words. They compute in double.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <string_view>

#include "op/formula/special_functions.h"
#include "ops/random/sampling.h"

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

struct DistributionInfo {
  Distribution kind;
  std::string_view name;
  size_t parameters;
  // Null, or what the parameters must be, for error texts.
  const char* condition;
  bool (*valid)(const double* p);
};

// The description of a name; raises ValueError for an unknown one.
const DistributionInfo& distribution_named(std::string_view name);

namespace samplers {

// In (0, 1], safe to take the logarithm of.
template <class Stream>
double positive(Stream& stream) {
  return 1 - uniform01<double>(stream);
}

// Marsaglia and Tsang's method; shapes below 1 by the usual boost. Where the shape is so large that its method never
// ends, infinity among them, the distribution is narrower than the step to the next number.
template <class Stream>
double gamma(Stream& stream, double shape) {
  constexpr double kNarrow = 0x1p200;
  if (!(shape < kNarrow)) return shape;
  if (shape < 1) return gamma(stream, shape + 1) * std::pow(positive(stream), 1 / shape);
  double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    double x, v;
    do {
      x = normal01<double>(stream);
      v = 1 + c * x;
    } while (v <= 0);
    v = v * v * v;
    double u = positive(stream);
    if (std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) return d * v;
  }
}

// Multiplication for small means, Hoermann's transformed rejection (PTRS) for large ones.
template <class Stream>
double poisson(Stream& stream, double mean) {
  constexpr double kNarrow = 0x1p200;
  if (mean == 0) return 0;
  if (!(mean < kNarrow)) return mean;
  if (mean < 12) {
    double limit = std::exp(-mean), product = positive(stream);
    int64_t count = 0;
    for (; product > limit; ++count) product *= positive(stream);
    return static_cast<double>(count);
  }
  double log_mean = std::log(mean), b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    double u = uniform01<double>(stream) - 0.5, v = positive(stream);
    double us = 0.5 - std::abs(u), k = std::floor((2 * a / us + b) * u + mean + 0.43);
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
      double x = gamma(stream, p[0]), y = gamma(stream, p[1]);
      if (std::isinf(x) && std::isinf(y)) return 0.5;
      return std::isinf(x) ? 1 : x / (x + y);
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
      return p[0] - p[1] * std::log(-std::log(std::min(positive(stream), 1 - 0x1p-53)));
    case Distribution::kLaplace: {
      double u = uniform01<double>(stream) - 0.5, depth = -std::log1p(-2 * std::min(std::abs(u), 0.5 - 0x1p-53));
      return p[0] + p[1] * std::copysign(depth, u);
    }
    case Distribution::kLogistic: {
      double u = std::min(positive(stream), 1 - 0x1p-53);
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
