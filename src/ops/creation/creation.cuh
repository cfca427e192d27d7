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

struct TriangleArguments {
  const void* from;
  void* to;
  int64_t count, rows, columns, k;
  int64_t is_vector;  // that is every row
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

template <class T>
inline void fill(const FillArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads())
    static_cast<T*>(a.to)[i] = static_cast<T>(a.bits);
}

template <class T, class Number>
inline void fill_progression(const ProgressionArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t place = i / a.repeat;
    Number value;
    if constexpr (std::is_same_v<Number, double>)
      value = std::bit_cast<double>(a.start) + std::bit_cast<double>(a.step) * static_cast<double>(place);
    else
      value = static_cast<Number>(a.start + a.step * static_cast<uint64_t>(place));  // wraps
    static_cast<T*>(a.to)[i] = numeric_cast<T>(value);
  }
}

// T: unsigned integers of the size of the elements.
template <class T, bool kLower>
inline void copy_triangle(const TriangleArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t column = i % a.columns, diagonal = column - i / a.columns % a.rows;
    const bool is_copied = kLower ? diagonal <= a.k : diagonal >= a.k;
    static_cast<T*>(a.to)[i] = is_copied ? static_cast<const T*>(a.from)[a.is_vector ? column : i] : T{0};
  }
}

}  // namespace headrace::device
#endif
