#include "ops/linalg/plain_gemm.h"

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "ops/linalg/dense_gemm.h"

namespace headrace {
namespace {

// What products of T are summed in.
template <class T>
struct SumOf {
  using Type = T;
};
template <>
struct SumOf<Float16> {
  using Type = float;
};
template <>
struct SumOf<Bfloat16> {
  using Type = float;
};
template <>
struct SumOf<bool> {
  using Type = int32_t;
};

constexpr int64_t kColumns = 256;  // of c that are summed at a time

// Rows [begin, end) of one product.
template <class T>
void rows(const Gemm& g, const T* a, const T* b, T* c, int64_t begin, int64_t end) {
  using Sum = typename SumOf<T>::Type;
  const T* bias = static_cast<const T*>(g.bias);
  Sum sums[kColumns];
  for (int64_t i = begin; i < end; ++i) {
    const T* row = a + i * g.a.row_stride;
    for (int64_t first = 0; first < g.n; first += kColumns) {
      int64_t count = std::min(kColumns, g.n - first);
      for (int64_t j = 0; j < count; ++j) sums[j] = bias ? static_cast<Sum>(bias[first + j]) : Sum{};
      for (int64_t p = 0; p < g.k; ++p) {
        const Sum factor = static_cast<Sum>(row[p * g.a.column_stride]);
        const T* from = b + p * g.b.row_stride + first * g.b.column_stride;
        if (g.b.column_stride == 1) {
          for (int64_t j = 0; j < count; ++j) sums[j] += factor * static_cast<Sum>(from[j]);
        } else {
          for (int64_t j = 0; j < count; ++j) sums[j] += factor * static_cast<Sum>(from[j * g.b.column_stride]);
        }
      }
      for (int64_t j = 0; j < count; ++j) c[i * g.n + first + j] = static_cast<T>(sums[j]);
    }
  }
}

// The same where b is one column, with the same sums.
template <class T>
void column(const Gemm& g, const T* a, const T* b, T* c, int64_t begin, int64_t end) {
  using Sum = typename SumOf<T>::Type;
  for (int64_t i = begin; i < end; ++i) {
    const T* row = a + i * g.a.row_stride;
    Sum sum = g.bias ? static_cast<Sum>(*static_cast<const T*>(g.bias)) : Sum{};
    for (int64_t p = 0; p < g.k; ++p)
      sum += static_cast<Sum>(row[p * g.a.column_stride]) * static_cast<Sum>(b[p * g.b.row_stride]);
    c[i] = static_cast<T>(sum);
  }
}

}  // namespace

void plain_gemm(const Gemm& g) {
  int64_t count = element_count(g.batch);
  dispatch(g.dtype, [&]<class T>() {
    parallel_for(count * g.m, 1, gemm_cost(g.dtype, count, g.m, g.n, g.k), [&](int64_t begin, int64_t end) {
      while (begin < end) {
        int64_t index = begin / g.m, first = begin % g.m, last = std::min(g.m, first + end - begin);
        const T* a = static_cast<const T*>(g.a.data) + batch_offset(g.batch, g.a.batch_strides, index);
        const T* b = static_cast<const T*>(g.b.data) + batch_offset(g.batch, g.b.batch_strides, index);
        T* const c = static_cast<T*>(g.c) + index * g.m * g.n;
        g.n == 1 ? column(g, a, b, c, first, last) : rows(g, a, b, c, first, last);
        begin += last - first;
      }
    });
  });
}

}  // namespace headrace
