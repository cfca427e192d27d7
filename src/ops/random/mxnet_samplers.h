// Variates as MXNet 1.9.1 makes them of the words of mt19937 on the CPU, so that a seed gives its numbers: which
// words are taken, in which order, and in which precision is part of the contract. Where MXNet has no sampler of its
// own those of ops/random/distributions.h hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "ops/random/distributions.h"
#include "ops/random/mersenne_fill.h"
#include "ops/random/sampling.h"

namespace headrace::samplers::mxnet {

// Means and shapes from which on a distribution is narrower than the step to the next float: its method may never end.
constexpr float kNarrow = 0x1p100f;

// Marsaglia and Tsang's method. nd's operators draw until a proposal is taken.
template <class Real>
struct GammaShape {
  explicit GammaShape(Real shape)
      : d(static_cast<Real>(shape < 1 ? shape + 2.0 / 3.0 : shape - 1.0 / 3.0)),
        k(static_cast<Real>(std::sqrt(9.0 * d))),
        c(static_cast<Real>(1.0 / k)) {}
  Real d, k, c;
};

template <class Real, class Words>
Real gamma(Words& words, Real shape, Real scale) {
  if (!(shape < kNarrow)) return shape * scale;
  const GammaShape<Real> of(shape);
  while (true) {
    const Real z = normal01<Real>(words);
    if (!(z > -of.k)) continue;
    const Real x = static_cast<Real>(1.0 + of.c * z), v = x * x * x;
    const double u = 1.0 - uniform01<Real>(words);
    if (!(std::log(u) < 0.5 * z * z + of.d * (1.0 - v + std::log(v)))) continue;
    const Real sample = of.d * v * scale;
    return shape < 1 ? sample * std::pow(uniform01<Real>(words), static_cast<Real>(1.0 / shape)) : sample;
  }
}

// std::lgamma(x) with a place of the thread's own for the sign, which that writes where all threads see it.
inline float log_gamma_of(float x) noexcept {
  int sign = 0;
  return ::lgammaf_r(x, &sign);
}

// Products of uniforms for small means, else "Numerical Recipes in C", 7.3: rejection with a Lorentzian.
template <class Words>
float poisson(Words& words, float mean) {
  if (!(mean < kNarrow)) return mean;
  if (mean < 12.0f) {
    const float limit = std::exp(-mean);
    int count = 0;
    for (float product = uniform01<float>(words); product > limit; product *= uniform01<float>(words)) ++count;
    return static_cast<float>(count);
  }
  const auto width = static_cast<float>(std::sqrt(2.0 * mean)), log_mean = std::log(mean);
  const auto g = static_cast<float>(mean * log_mean - log_gamma_of(mean + 1.0f));
  while (true) {
    float y, count;
    do {
      y = std::tan(3.1415926f * uniform01<float>(words));
      count = width * y + mean;
    } while (count < 0);
    count = std::floor(count);
    const auto accept =
        static_cast<float>(0.9 * (1.0 + y * y) * std::exp(count * log_mean - log_gamma_of(count + 1) - g));
    if (!(uniform01<float>(words) > accept)) return count;
  }
}

// nd's, in the precision of the result's dtype.
template <class Real, class Words>
double draw_parallel(Distribution kind, Words& words, const double* p) {
  if (kind != Distribution::kUniform && !(p[0] < kNarrow)) return draw(kind, words, p);
  const auto first = static_cast<float>(p[0]);
  switch (kind) {
    case Distribution::kUniform:
      return p[0] + (p[1] - p[0]) * uniform01<Real>(words);
    case Distribution::kNormal:
      return p[0] + p[1] * normal01<Real>(words);
    case Distribution::kExponential:
      return -std::log(1.0 - uniform01<Real>(words)) / first;
    case Distribution::kGamma:
      return gamma<Real>(words, first, static_cast<float>(p[1]));
    case Distribution::kPoisson:
      return poisson(words, first);
    case Distribution::kNegativeBinomial: {
      const auto success = static_cast<float>(p[1]);
      return poisson(words, gamma<float>(words, first, static_cast<float>((1.0 - success) / success)));
    }
    case Distribution::kGeneralizedNegativeBinomial: {
      const auto dispersion = static_cast<float>(p[1]);
      return poisson(words, dispersion == 0 ? first : gamma<float>(words, 1 / dispersion, dispersion * first));
    }
    default:
      return draw(kind, words, p);
  }
}

// np's: a float of one word each.
template <class Words>
double draw_sequential(Distribution kind, Words& words, const double* p) {
  const auto u = [&words] { return uniform01<float>(words); };
  switch (kind) {
    case Distribution::kExponential:
      return -std::log(u()) / p[0];
    case Distribution::kGumbel:
      return p[0] - std::log(-std::log(u())) * p[1];
    case Distribution::kLogistic: {
      const float one = u();
      return p[0] + (std::log(one) - std::log(1 - one)) * p[1];
    }
    case Distribution::kPareto:
      return std::exp(-std::log(u()) / static_cast<float>(p[0])) - 1;
    case Distribution::kPower:
      return std::pow(1 - u(), static_cast<float>(1.0 / p[0]));
    case Distribution::kRayleigh:
      return p[0] * std::sqrt(-2 * std::log(u()));
    case Distribution::kWeibull:
      return std::pow(-std::log(u()), static_cast<float>(1.0 / p[0]));
    default:
      return draw(kind, words, p);
  }
}

// np's gamma variates: `parameters(i)` points to the shape and the scale of sample i. Two uniforms and two normals are
// drawn for each sample, all uniforms first; while one was refused that is done again for all, and those that are there
// stay.
template <class Parameters>
void fill_gamma(MersenneTwister& words, std::span<double> samples, const Parameters& parameters) {
  using Normals = NormalTurns<double>;
  std::vector<double> uniforms(2 * samples.size()), normals(2 * samples.size());
  const auto count = static_cast<int64_t>(normals.size());
  std::ranges::fill(samples, -1);
  while (std::ranges::any_of(samples, [](double sample) { return sample < 0; })) {
    UniformTurns<double>(words, uniforms.data(), count, 0, 1).take_all();
    Normals(words, Normals::Use::kBothOfPair, normals.data(), count, 0, 1).take_all();
    for (size_t i = 0; i < samples.size(); ++i) {
      if (!(samples[i] < 0)) continue;
      const auto shape = static_cast<float>(parameters(i)[0]), scale = static_cast<float>(parameters(i)[1]);
      const GammaShape<double> of(shape);
      const double u = uniforms[2 * i], n = normals[2 * i], x = 1 + of.c * n, v = x * x * x;
      if (!(v > 0)) continue;
      const bool taken =
          u <= 1 - 0.0331 * (n * n) * (n * n) ||
          std::log(static_cast<float>(u)) < 0.5 * (n * n) + of.d * (1 - v + std::log(static_cast<float>(v)));
      if (!taken) continue;
      const auto boost = std::pow(static_cast<float>(uniforms[2 * i + 1]), static_cast<float>(1.0 / shape));
      samples[i] = of.d * v * scale * (shape < 1 ? boost : 1);
    }
  }
}

}  // namespace headrace::samplers::mxnet
