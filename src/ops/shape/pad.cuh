// Arrays with borders.
#pragma once

#include <cstdint>

#include "ops/shape/border.h"

namespace headrace::device {

struct PadArguments {
  static constexpr int kMostDims = 16;  // neighbouring dimensions without borders being one
  const void* from;
  void* to;
  int64_t count;  // of results
  int64_t dims;
  int64_t extents[kMostDims], before[kMostDims], padded[kMostDims];
  uint64_t constant;  // its bits
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

// T: unsigned integers of the size of the elements.
template <class T, Border kBorder>
inline void pad_elements(const PadArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    int64_t rest = i, from = 0, stride = 1;
    bool is_outside = false;
    for (int64_t d = a.dims - 1; d >= 0; --d) {
      const int64_t at = border_source(kBorder, rest % a.padded[d] - a.before[d], a.extents[d]);
      is_outside |= at == kOutsideOfArray;
      from += at * stride;
      stride *= a.extents[d];
      rest /= a.padded[d];
    }
    static_cast<T*>(a.to)[i] = is_outside ? static_cast<T>(a.constant) : static_cast<const T*>(a.from)[from];
  }
}

// The first position behind `position` of an axis of the padded array where its element `wanted` stands, or -1.
template <Border kBorder>
inline int64_t next_copy(const PadArguments& a, int64_t d, int64_t wanted, int64_t position) {
  for (int64_t p = position + 1; p < a.padded[d]; ++p) {
    const int64_t at = p - a.before[d];
    if (at >= 0 && at < a.extents[d] && at != wanted) {
      p = (at < wanted ? wanted : a.extents[d]) + a.before[d] - 1;  // there are no copies between
      continue;
    }
    if (border_source(kBorder, at, a.extents[d]) == wanted) return p;
  }
  return -1;
}

template <class T, class Sum, Border kBorder>
inline void add_padded(const PadArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    int64_t wanted[PadArguments::kMostDims], at[PadArguments::kMostDims];
    int64_t rest = i;
    for (int64_t d = a.dims - 1; d >= 0; --d) {
      wanted[d] = rest % a.extents[d];
      at[d] = next_copy<kBorder>(a, d, wanted[d], -1);
      rest /= a.extents[d];
    }
    Sum sum = 0;
    for (int64_t d = 0; d >= 0;) {
      int64_t from = 0;
      for (int64_t k = 0; k < a.dims; ++k) from = from * a.padded[k] + at[k];
      sum += numeric_cast<Sum>(static_cast<const T*>(a.from)[from]);
      for (d = a.dims - 1; d >= 0; --d) {
        at[d] = next_copy<kBorder>(a, d, wanted[d], at[d]);
        if (at[d] >= 0) break;
        at[d] = next_copy<kBorder>(a, d, wanted[d], -1);
      }
    }
    static_cast<T*>(a.to)[i] = numeric_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
