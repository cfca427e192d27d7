// Products of stacks of matrices, one element of the result by each thread: for types that the library does not
// multiply.
#pragma once

#include <cstdint>

namespace headrace::device {

// Strides in elements; c is packed. No bias: null.
struct GemmArguments {
  const void* a;
  const void* b;
  void* c;
  const void* bias;
  int64_t batch, m, n, k;
  int64_t a_batch, a_row, a_column;
  int64_t b_batch, b_row, b_column;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

// What products of T are summed in: integers wrap.
template <class T>
struct SumOf {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct SumOf<double> {
  using Type = double;
};
template <>
struct SumOf<float> {
  using Type = float;
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

template <class T>
inline void gemm(const GemmArguments& g) {
  using Sum = typename SumOf<T>::Type;
  const T* const as = static_cast<const T*>(g.a);
  const T* const bs = static_cast<const T*>(g.b);
  const int64_t count = g.batch * g.m * g.n;
  for (int64_t place = first_of_thread(); place < count; place += all_threads()) {
    const int64_t column = place % g.n, row = place / g.n % g.m, one = place / g.n / g.m;
    const T* const a = as + one * g.a_batch + row * g.a_row;
    const T* const b = bs + one * g.b_batch + column * g.b_column;
    Sum sum = g.bias ? static_cast<Sum>(static_cast<const T*>(g.bias)[column]) : Sum{0};
    for (int64_t p = 0; p < g.k; ++p)
      sum = static_cast<Sum>(sum + static_cast<Sum>(a[p * g.a_column]) * static_cast<Sum>(b[p * g.b_row]));
    static_cast<T*>(g.c)[place] = static_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
