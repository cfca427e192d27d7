// The arithmetic of layer normalisation on one contiguous row. Pure functions; any thread.
#pragma once

#include <cstdint>

namespace headrace {

struct RowMoments {
  double mean, deviation;  // deviation = sqrt(variance + eps)
};

template <class T>
struct LayerNormKernels {
  RowMoments (*moments)(const T* x, int64_t n, double eps) noexcept;
  // y = (x - mean) / deviation * gamma + beta
  void (*normalize)(const T* x, const T* gamma, const T* beta, T* y, int64_t n, RowMoments moments) noexcept;
  // dx, and what the row adds to the gradients of gamma and beta unless these are null
  void (*gradient)(const T* dy, const T* x, const T* gamma, T* dx, T* dgamma, T* dbeta, int64_t n,
                   RowMoments moments) noexcept;
};

const LayerNormKernels<float>& layer_norm_kernels(float) noexcept;
const LayerNormKernels<double>& layer_norm_kernels(double) noexcept;

}  // namespace headrace
