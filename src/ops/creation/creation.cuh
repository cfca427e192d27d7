// Arrays of one value, and of evenly spaced ones.
#pragma once

#include <cstdint>

namespace headrace::device {

struct FillArguments {
  void* to;
  int64_t count;
  uint64_t bits;
};

// start and step are int64_t or double.
struct ProgressionArguments {
  void* to;
  int64_t count, repeat;
  uint64_t start, step, last;
  int64_t has_last;
};

// Matrices, and the diagonal on which they begin or end.
struct DiagonalArguments {
  const void* from;  // null where the result is made of `bits`
  void* to;
  int64_t count, rows, columns, k;
  int64_t line_stride;  // of `from`
  uint64_t bits;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/formula/numeric_cast.h"

namespace headrace::device {

template <class T>
inline void fill(const FillArguments& a) {
  const int64_t step = gridDim.x * static_cast<int64_t>(blockDim.x);
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < a.count; i += step)
    static_cast<T*>(a.to)[i] = static_cast<T>(a.bits);
}

template <class T, class Number>
inline void fill_progression(const ProgressionArguments& a) {
  const int64_t step = gridDim.x * static_cast<int64_t>(blockDim.x);
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < a.count; i += step) {
    const int64_t place = i / a.repeat;
    Number value;
    if constexpr (std::is_same_v<Number, double>)
      value = a.has_last && i == a.count - 1
                  ? std::bit_cast<double>(a.last)
                  : std::bit_cast<double>(a.start) + std::bit_cast<double>(a.step) * static_cast<double>(place);
    else
      value = static_cast<Number>(a.start + a.step * static_cast<uint64_t>(place));  // wraps
    static_cast<T*>(a.to)[i] = numeric_cast<T>(value);
  }
}

template <class T>
inline void fill_eye(const DiagonalArguments& a) {
  const int64_t step = gridDim.x * static_cast<int64_t>(blockDim.x);
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < a.count; i += step)
    static_cast<T*>(a.to)[i] = i % a.columns - i / a.columns == a.k ? static_cast<T>(a.bits) : T{};
}

template <class T, bool kLower>
inline void copy_triangle(const DiagonalArguments& a) {
  const int64_t step = gridDim.x * static_cast<int64_t>(blockDim.x);
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < a.count; i += step) {
    const int64_t line = i / a.columns, column = i % a.columns, above = column - line % a.rows - a.k;
    const bool is_kept = kLower ? above <= 0 : above >= 0;
    static_cast<T*>(a.to)[i] = is_kept ? static_cast<const T*>(a.from)[line * a.line_stride + column] : T{};
  }
}

}  // namespace headrace::device
#endif
