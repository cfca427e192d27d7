// The arithmetic of batch normalisation on contiguous memory. Data of float16 and bfloat16 are converted in the
// vectors; parameters are in the compute type T. Pure functions; any thread.
//
// Columns: `rows` rows of `width` neighbouring elements, each column with parameters of its own (channels-last images).
// Planes: elements of one channel side by side (row-major images).
#pragma once

#include <cstdint>

#include "headrace/dtype.hpp"

namespace headrace {

// Count, mean and sum of squared differences from the mean.
struct BatchMoments {
  double count = 0, mean = 0, squares = 0;

  // As if the elements of both had been counted together.
  void merge(const BatchMoments& other) noexcept {
    if (other.count == 0) return;
    const double total = count + other.count, step = other.mean - mean;
    mean += step * (other.count / total);
    squares += other.squares + step * step * (count * other.count / total);
    count = total;
  }
};

// y = (x - mean) * scale + beta
template <class T>
struct BatchAffine {
  const T *mean, *scale, *beta;
};

// dx = (dy - mean_gradient - (x - mean) * slope) * scale
template <class T>
struct BatchSlope {
  const T *mean_gradient, *slope;
};

template <class T>
struct BatchNormKernels {
  // Adds x - shift and its square to the sums of its column.
  void (*add_moments)(const void* x, int64_t rows, int64_t width, const T* shift, T* sum, T* squares) noexcept;
  void (*normalize)(const void* x, void* y, int64_t rows, int64_t width, BatchAffine<T> affine, bool relu) noexcept;
  // Adds dy and dy * (x - mean). With relu, dy counts as 0 where the normalised x is not positive, here and below.
  void (*add_products)(const void* dy, const void* x, int64_t rows, int64_t width, BatchAffine<T> affine, bool relu,
                       T* sum, T* products) noexcept;
  void (*gradient)(const void* dy, const void* x, void* dx, int64_t rows, int64_t width, BatchAffine<T> affine,
                   BatchSlope<T> slope, bool relu) noexcept;

  // The same for n elements of one channel; parameters are single numbers.
  BatchMoments (*plane_moments)(const void* x, int64_t n) noexcept;
  void (*normalize_plane)(const void* x, void* y, int64_t n, BatchAffine<T> affine, bool relu) noexcept;
  void (*plane_products)(const void* dy, const void* x, int64_t n, BatchAffine<T> affine, bool relu, double& sum,
                         double& products) noexcept;
  void (*plane_gradient)(const void* dy, const void* x, void* dx, int64_t n, BatchAffine<T> affine, BatchSlope<T> slope,
                         bool relu) noexcept;
};

// For data of one float dtype, by its compute type.
template <class T>
const BatchNormKernels<T>& batch_norm_kernels(DType dtype) noexcept;
template <>
const BatchNormKernels<float>& batch_norm_kernels<float>(DType dtype) noexcept;
template <>
const BatchNormKernels<double>& batch_norm_kernels<double>(DType dtype) noexcept;

}  // namespace headrace
