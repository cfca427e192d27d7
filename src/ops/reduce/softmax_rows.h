// Softmax along one contiguous row, or down neighbouring columns. Pure functions; any thread.
#pragma once

#include <cstdint>

namespace headrace {

inline constexpr int64_t kSoftmaxColumns = 64;

// x, y, dy, dx: n elements each; an output may be exactly an input. z = scale * x.
template <class T>
struct SoftmaxKernels {
  void (*softmax)(const T* x, T* y, int64_t n, double scale) noexcept;      // y = exp(z) / sum exp(z)
  void (*log_softmax)(const T* x, T* y, int64_t n, double scale) noexcept;  // y = z - log sum exp(z)
  // The same down each of `columns` <= kSoftmaxColumns neighbouring columns of n rows, `stride` elements apart.
  void (*softmax_columns)(const T* x, T* y, int64_t n, int64_t stride, int64_t columns, double scale) noexcept;
  void (*log_softmax_columns)(const T* x, T* y, int64_t n, int64_t stride, int64_t columns, double scale) noexcept;
  // dx = scale * y * (dy - sum(dy * y))
  void (*softmax_gradient)(const T* dy, const T* y, T* dx, int64_t n, double scale) noexcept;
  // dx = scale * (dy - exp(y) * sum(dy))
  void (*log_softmax_gradient)(const T* dy, const T* y, T* dx, int64_t n, double scale) noexcept;
};

const SoftmaxKernels<float>& softmax_kernels(float) noexcept;
const SoftmaxKernels<double>& softmax_kernels(double) noexcept;

}  // namespace headrace
