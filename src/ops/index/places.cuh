// Flat indices and coordinates in an array.
#pragma once

#include <cstdint>

namespace headrace::device {

struct FlatPlaceArguments {
  static constexpr int kMostDims = 32;
  const void* from;
  void* to;
  int64_t count, dims;  // count: of places
  int64_t extents[kMostDims];
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

template <class T>
inline void ravel_places(const FlatPlaceArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    uint64_t place = 0;
    for (int64_t d = 0; d < a.dims; ++d) {
      const auto at = numeric_cast<int64_t>(static_cast<const T*>(a.from)[d * a.count + i]);
      place = place * static_cast<uint64_t>(a.extents[d]) + static_cast<uint64_t>(at);
    }
    static_cast<T*>(a.to)[i] = numeric_cast<T>(static_cast<int64_t>(place));
  }
}

template <class T>
inline void unravel_places(const FlatPlaceArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    auto rest = numeric_cast<int64_t>(static_cast<const T*>(a.from)[i]);
    for (int64_t d = a.dims - 1; d >= 0; --d) {
      static_cast<T*>(a.to)[d * a.count + i] = numeric_cast<T>(d == 0 ? rest : rest % a.extents[d]);
      if (d > 0) rest /= a.extents[d];
    }
  }
}

}  // namespace headrace::device
#endif
