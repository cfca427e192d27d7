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
  uint64_t start, step;
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
      value = std::bit_cast<double>(a.start) + std::bit_cast<double>(a.step) * static_cast<double>(place);
    else
      value = static_cast<Number>(a.start + a.step * static_cast<uint64_t>(place));  // wraps
    static_cast<T*>(a.to)[i] = numeric_cast<T>(value);
  }
}

}  // namespace headrace::device
#endif
