// Vector kernels for float and double matrices, for the best instruction set of this machine. Any thread.
#pragma once

#include <cstdint>

namespace headrace {

inline constexpr int64_t kMicroRows = 6;  // of a micro tile

template <class T>
struct DenseKernels {
  // y[i] = sum over p < k of a[i * stride + p] * x[p], for i < rows: a lies row by row.
  void (*rows_times_vector)(const T* a, int64_t stride, const T* x, T* y, int64_t rows, int64_t k);
  // y[i] = sum over p < k of a[p * stride + i] * x[p], for i < rows: a lies column by column.
  void (*columns_times_vector)(const T* a, int64_t stride, const T* x, T* y, int64_t rows, int64_t k);
  // A kMicroRows x micro_columns tile of c: the product of panels packed as (k, kMicroRows) and (k, micro_columns),
  // added to what is there or replacing it.
  void (*micro_tile)(int64_t k, const T* a, const T* b, T* c, int64_t c_stride, bool add);
  int64_t micro_columns;
};

template <class T>  // float or double
const DenseKernels<T>& dense_kernels();

}  // namespace headrace
