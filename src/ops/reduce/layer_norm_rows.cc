#include "ops/reduce/layer_norm_rows.h"

#include <algorithm>
#include <cmath>

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/layer_norm_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

// Lanes that the compiler keeps in vectors, and elements they take up before the sums go on in double.
constexpr int64_t kLanes = 32, kBlock = 2048;

// Sums of up to two terms per element; f(i, a, b) adds to them.
template <class T, class F>
HWY_INLINE void sums_of(int64_t n, double& first, double& second, F&& f) {
  first = second = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    T a[kLanes] = {}, b[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (int64_t k = 0; k < kLanes; ++k) f(i + k, a[k], b[k]);
    for (int64_t k = 0; i < end; ++i, ++k) f(i, a[k], b[k]);
    for (int64_t k = 0; k < kLanes; ++k) {
      first += static_cast<double>(a[k]);
      second += static_cast<double>(b[k]);
    }
  }
}

template <class T>
RowMoments moments(const T* x, int64_t n, double eps) noexcept {
  double sum, unused, squares;
  sums_of<T>(n, sum, unused, [x](int64_t i, T& a, T&) { a += x[i]; });
  const double mean = sum / static_cast<double>(n);
  const T center = static_cast<T>(mean);
  sums_of<T>(n, squares, unused, [x, center](int64_t i, T& a, T&) { a += (x[i] - center) * (x[i] - center); });
  return {mean, std::sqrt(squares / static_cast<double>(n) + eps)};
}

template <class T>
void normalize(const T* HWY_RESTRICT x, const T* HWY_RESTRICT gamma, const T* HWY_RESTRICT beta, T* HWY_RESTRICT y,
               int64_t n, RowMoments m) noexcept {
  const T mean = static_cast<T>(m.mean), scale = static_cast<T>(1 / m.deviation);
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
}

// With z = (x - mean) / deviation and g = dy * gamma: dx = (g - mean(g) - z * mean(g * z)) / deviation.
template <class T, bool of_parameters>
void differentiate(const T* HWY_RESTRICT dy, const T* HWY_RESTRICT x, const T* HWY_RESTRICT gamma, T* HWY_RESTRICT dx,
                   T* HWY_RESTRICT dgamma, T* HWY_RESTRICT dbeta, int64_t n, RowMoments m) noexcept {
  const T mean = static_cast<T>(m.mean), scale = static_cast<T>(1 / m.deviation);
  double sum, dot;
  sums_of<T>(n, sum, dot, [=](int64_t i, T& a, T& b) {
    const T g = dy[i] * gamma[i];
    a += g;
    b += g * ((x[i] - mean) * scale);
  });
  const T mean_g = static_cast<T>(sum / static_cast<double>(n)), mean_gz = static_cast<T>(dot / static_cast<double>(n));
  for (int64_t i = 0; i < n; ++i) {
    const T z = (x[i] - mean) * scale;
    if constexpr (of_parameters) {
      dgamma[i] += dy[i] * z;
      dbeta[i] += dy[i];
    }
    dx[i] = (dy[i] * gamma[i] - mean_g - z * mean_gz) * scale;
  }
}

template <class T>
void gradient(const T* dy, const T* x, const T* gamma, T* dx, T* dgamma, T* dbeta, int64_t n, RowMoments m) noexcept {
  (dgamma ? differentiate<T, true> : differentiate<T, false>)(dy, x, gamma, dx, dgamma, dbeta, n, m);
}

}  // namespace

LayerNormKernels<float> layer_norm_float() { return {moments<float>, normalize<float>, gradient<float>}; }
LayerNormKernels<double> layer_norm_double() { return {moments<double>, normalize<double>, gradient<double>}; }

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(layer_norm_float);
HWY_EXPORT(layer_norm_double);

const LayerNormKernels<float>& layer_norm_kernels(float) noexcept {
  static const auto kKernels = HWY_DYNAMIC_DISPATCH(layer_norm_float)();
  return kKernels;
}
const LayerNormKernels<double>& layer_norm_kernels(double) noexcept {
  static const auto kKernels = HWY_DYNAMIC_DISPATCH(layer_norm_double)();
  return kKernels;
}

}  // namespace headrace
#endif
