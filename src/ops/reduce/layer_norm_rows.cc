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

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kBlock = 2048;  // elements summed in the compute type before the sum goes on in double

template <class D>
HWY_INLINE double sum_in_double(D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const hn::Repartition<double, D> wide;
    const hn::Half<D> half;
    const auto low = hn::PromoteTo(wide, hn::LowerHalf(half, v)), high = hn::PromoteTo(wide, hn::UpperHalf(half, v));
    return hn::GetLane(hn::SumOfLanes(wide, hn::Add(low, high)));
  }
#endif
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, v)));
}

// Sums of one or two terms per element; f(d, i, a, b) adds to them what the elements from i on contribute.
template <class T, int kSums, class F>
HWY_INLINE void sums_of(int64_t count, double& first, double& second, F&& f) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const size_t width = hn::Lanes(d), n = static_cast<size_t>(count);
  first = second = 0;
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t end = std::min(n, begin + kBlock);
    auto a = hn::Zero(d), b = a, further_a = a, further_b = a;  // two chains, which hide the latency of an addition
    size_t i = begin;
    for (; i + 2 * width <= end; i += 2 * width) {
      f(d, i, a, b);
      f(d, i + width, further_a, further_b);
    }
    auto rest_a = hn::Zero(one), rest_b = rest_a;
    for (; i < end; ++i) f(one, i, rest_a, rest_b);
    first += sum_in_double(d, hn::Add(a, further_a)) + static_cast<double>(hn::GetLane(rest_a));
    if constexpr (kSums == 2)
      second += sum_in_double(d, hn::Add(b, further_b)) + static_cast<double>(hn::GetLane(rest_b));
  }
}

template <class T>
RowMoments moments(const T* x, int64_t n, double eps) noexcept {
  double sum, unused, squares;
  sums_of<T, 1>(n, sum, unused,
                [x](auto d, size_t i, auto& a, auto&) HWY_ATTR { a = hn::Add(a, hn::LoadU(d, x + i)); });
  const double mean = sum / static_cast<double>(n);
  const T center = static_cast<T>(mean);
  sums_of<T, 1>(n, squares, unused, [x, center](auto d, size_t i, auto& a, auto&) HWY_ATTR {
    const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, center));
    a = hn::MulAdd(distance, distance, a);
  });
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
  sums_of<T, 2>(n, sum, dot, [=](auto d, size_t i, auto& a, auto& b) HWY_ATTR {
    const auto g = hn::Mul(hn::LoadU(d, dy + i), hn::LoadU(d, gamma + i));
    a = hn::Add(a, g);
    b = hn::MulAdd(g, hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, scale)), b);
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
