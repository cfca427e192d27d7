#include "ops/linalg/dense_kernels.h"

#include <algorithm>

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/linalg/dense_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// `kRows` rows at a time, so that x is loaded once for all of them.
template <int kRows, class T>
HWY_INLINE void dot_rows(const T* a, int64_t stride, const T* x, T* y, int64_t k) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  V sums[kRows][2];
  for (auto& sum : sums) sum[0] = sum[1] = hn::Zero(d);
  int64_t p = 0;
  for (; p + 2 * lanes <= k; p += 2 * lanes) {
    const V x0 = hn::LoadU(d, x + p), x1 = hn::LoadU(d, x + p + lanes);
    for (int r = 0; r < kRows; ++r) {
      sums[r][0] = hn::MulAdd(hn::LoadU(d, a + r * stride + p), x0, sums[r][0]);
      sums[r][1] = hn::MulAdd(hn::LoadU(d, a + r * stride + p + lanes), x1, sums[r][1]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[r][0], sums[r][1])));
    for (int64_t q = p; q < k; ++q) sum += a[r * stride + q] * x[q];
    y[r] = sum;
  }
}

template <class T>
void rows_times_vector(const T* a, int64_t stride, const T* x, T* y, int64_t rows, int64_t k) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) dot_rows<4>(a + i * stride, stride, x, y + i, k);
  for (; i < rows; ++i) dot_rows<1>(a + i * stride, stride, x, y + i, k);
}

// Adds `kColumns` columns to y in one pass over it.
template <int kColumns, class T>
HWY_INLINE void add_columns(const T* a, int64_t stride, const T* x, T* y, int64_t rows) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  V factors[kColumns];
  for (int c = 0; c < kColumns; ++c) factors[c] = hn::Set(d, x[c]);
  int64_t i = 0;
  for (; i + lanes <= rows; i += lanes) {
    V sum = hn::LoadU(d, y + i);
    for (int c = 0; c < kColumns; ++c) sum = hn::MulAdd(hn::LoadU(d, a + c * stride + i), factors[c], sum);
    hn::StoreU(sum, d, y + i);
  }
  for (; i < rows; ++i)
    for (int c = 0; c < kColumns; ++c) y[i] += a[c * stride + i] * x[c];
}

template <class T>
void columns_times_vector(const T* a, int64_t stride, const T* x, T* y, int64_t rows, int64_t k) {
  std::fill(y, y + rows, T{0});
  int64_t p = 0;
  for (; p + 8 <= k; p += 8) add_columns<8>(a + p * stride, stride, x + p, y, rows);
  for (; p < k; ++p) add_columns<1>(a + p * stride, stride, x + p, y, rows);
}

// Vectors in the columns of a micro tile: as many accumulators as the instruction set has registers for.
constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

template <class T>
void micro_tile(int64_t k, const T* a, const T* b, T* c, int64_t c_stride, bool add) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  V sums[kMicroRows][kVectors];
  for (auto& row : sums)
    for (V& sum : row) sum = hn::Zero(d);
  for (int64_t p = 0; p < k; ++p, a += kMicroRows, b += kVectors * lanes) {
    V right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * lanes);
    for (int64_t r = 0; r < kMicroRows; ++r) {
      const V left = hn::Set(d, a[r]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(left, right[v], sums[r][v]);
    }
  }
  for (int64_t r = 0; r < kMicroRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      T* to = c + r * c_stride + v * lanes;
      hn::StoreU(add ? hn::Add(hn::LoadU(d, to), sums[r][v]) : sums[r][v], d, to);
    }
  }
}

template <class T>
DenseKernels<T> make_kernels() {
  return {&rows_times_vector<T>, &columns_times_vector<T>, &micro_tile<T>,
          kVectors * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()))};
}

DenseKernels<float> float_kernels() { return make_kernels<float>(); }
DenseKernels<double> double_kernels() { return make_kernels<double>(); }

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(float_kernels);
HWY_EXPORT(double_kernels);

template <>
const DenseKernels<float>& dense_kernels() {
  static const DenseKernels<float> kernels = HWY_DYNAMIC_DISPATCH(float_kernels)();
  return kernels;
}

template <>
const DenseKernels<double>& dense_kernels() {
  static const DenseKernels<double> kernels = HWY_DYNAMIC_DISPATCH(double_kernels)();
  return kernels;
}

}  // namespace headrace
#endif
