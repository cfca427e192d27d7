// Slices and elements at positions along one axis.
#pragma once

#include <cstdint>

namespace headrace::device {

// As ops/index/indices.h counts them.
enum class IndexMode { kClip, kWrap, kRaise, kRaiseNegative };

struct IndexArguments {
  const void* from;
  const void* indices;
  void* to;
  int64_t outer, length, inner;  // of the array that the positions lie in
  int64_t count;                 // of indices
};

struct MarkArguments {
  const void* indices;
  void* to;
  int64_t count, depth;
  double on, off;
};

// The first index out of range that a block has found: its place among the indices, or -1, and its value.
struct WrongIndex {
  int64_t place, value;
};

struct CheckArguments {
  const void* indices;
  WrongIndex* found;  // of each block
  int64_t count, least, extent;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/first_wrong.cuh"
#include "op/device/pack.cuh"

namespace headrace::device {

template <IndexMode kMode>
inline int64_t in_range(int64_t index, int64_t extent) {
  if (index >= 0 && index < extent) return index;
  if constexpr (kMode == IndexMode::kWrap) {
    const int64_t rest = index % extent;
    return rest < 0 ? rest + extent : rest;
  } else {
    // Those that raise have been checked; what is beyond them only keeps to the array.
    if (kMode == IndexMode::kRaise && index < 0 && index >= -extent) return index + extent;
    return index < 0 ? 0 : extent - 1;
  }
}

template <class Index, IndexMode kMode>
inline int64_t position(const IndexArguments& a, int64_t k) {
  return in_range<kMode>(numeric_cast<int64_t>(static_cast<const Index*>(a.indices)[k]), a.length);
}

// to[o, k, :] = from[o, positions[k], :]
template <class T, class Index, IndexMode kMode>
inline void take_slices(const IndexArguments& a) {
  const int64_t size = a.outer * a.count * a.inner;
  for (int64_t i = first_of_thread(); i < size; i += all_threads()) {
    const int64_t slice = i / a.inner, row = slice / a.count * a.length + position<Index, kMode>(a, slice % a.count);
    static_cast<T*>(a.to)[i] = static_cast<const T*>(a.from)[row * a.inner + i % a.inner];
  }
}

// Calls f(place in the indices, place in the whole array) for every index of a position of its own.
template <class Index, IndexMode kMode, class F>
inline void for_each_element(const IndexArguments& a, const F& f) {
  const int64_t block = a.count / a.outer;
  for (int64_t k = first_of_thread(); k < a.count; k += all_threads())
    f(k, (k / block * a.length + position<Index, kMode>(a, k)) * a.inner + k % a.inner);
}

// to[o, i, j] = from[o, positions[o, i, j], j]
template <class T, class Index, IndexMode kMode>
inline void pick_elements(const IndexArguments& a) {
  for_each_element<Index, kMode>(
      a, [&](int64_t k, int64_t at) { static_cast<T*>(a.to)[k] = static_cast<const T*>(a.from)[at]; });
}

// to[o, positions[o, i, j], j] = from[o, i, j]
template <class T, class Index, IndexMode kMode>
inline void put_elements(const IndexArguments& a) {
  for_each_element<Index, kMode>(
      a, [&](int64_t k, int64_t at) { static_cast<T*>(a.to)[at] = static_cast<const T*>(a.from)[k]; });
}

template <class T, class Index>
inline void mark_positions(const MarkArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count * a.depth; i += all_threads()) {
    const auto index = numeric_cast<int64_t>(static_cast<const Index*>(a.indices)[i / a.depth]);
    static_cast<T*>(a.to)[i] = numeric_cast<T>(index == i % a.depth ? a.on : a.off);
  }
}

template <class Index>
inline void find_outside(const CheckArguments& a) {
  const auto value = [&](int64_t k) { return numeric_cast<int64_t>(static_cast<const Index*>(a.indices)[k]); };
  const int64_t first =
      first_wrong(a.count, [&](int64_t k) { return value(k) < a.least || value(k) >= a.extent; });
  if (threadIdx.x == 0)
    a.found[blockIdx.x] = first < a.count ? WrongIndex{first, value(first)} : WrongIndex{-1, 0};
}

}  // namespace headrace::device
#endif
