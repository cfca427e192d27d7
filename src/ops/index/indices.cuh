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
  int64_t count;                 // of indices, where they are slices'
};

struct MarkArguments {
  const void* indices;
  void* to;
  int64_t count, depth;
  double on, off;
};

// What is written of the first index that is out of range: its place among the indices, or -1, and its value.
struct CheckArguments {
  const void* indices;
  int64_t* found;
  int64_t count, least, extent;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/group.cuh"

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

inline int64_t first_of_thread() { return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; }
inline int64_t all_threads() { return gridDim.x * static_cast<int64_t>(blockDim.x); }

// to[o, k, :] = from[o, positions[k], :]
template <class T, class Index, IndexMode kMode>
inline void take_slices(const IndexArguments& a) {
  const int64_t size = a.outer * a.count * a.inner;
  for (int64_t i = first_of_thread(); i < size; i += all_threads()) {
    const int64_t slice = i / a.inner, row = slice / a.count * a.length + position<Index, kMode>(a, slice % a.count);
    static_cast<T*>(a.to)[i] = static_cast<const T*>(a.from)[row * a.inner + i % a.inner];
  }
}

// to[o, positions[k], :] += from[o, k, :], in the order of k. Each element of the result is one thread's, which looks
// at every index; those of a block, whose elements lie together, look at the same ones.
template <class T, class Sum, class Index, IndexMode kMode>
inline void add_to_slices(const IndexArguments& a) {
  const int64_t size = a.outer * a.length * a.inner;
  for (int64_t i = first_of_thread(); i < size; i += all_threads()) {
    const int64_t row = i / a.inner % a.length, outer = i / a.inner / a.length;
    const T* const from = static_cast<const T*>(a.from) + outer * a.count * a.inner + i % a.inner;
    Sum sum{};
    for (int64_t k = 0; k < a.count; ++k)
      if (position<Index, kMode>(a, k) == row) sum = static_cast<Sum>(sum + static_cast<Sum>(from[k * a.inner]));
    static_cast<T*>(a.to)[i] = static_cast<T>(sum);
  }
}

// to[o, j] = from[o, positions[o, j], j]
template <class T, class Index, IndexMode kMode>
inline void pick_elements(const IndexArguments& a) {
  for (int64_t i = first_of_thread(); i < a.outer * a.inner; i += all_threads()) {
    const int64_t row = i / a.inner * a.length + position<Index, kMode>(a, i);
    static_cast<T*>(a.to)[i] = static_cast<const T*>(a.from)[row * a.inner + i % a.inner];
  }
}

// to[o, positions[o, j], j] = from[o, j], 0 elsewhere.
template <class T, class Index, IndexMode kMode>
inline void put_elements(const IndexArguments& a) {
  const int64_t size = a.outer * a.length * a.inner;
  for (int64_t i = first_of_thread(); i < size; i += all_threads()) {
    const int64_t place = i / a.inner / a.length * a.inner + i % a.inner;
    const bool is_there = position<Index, kMode>(a, place) == i / a.inner % a.length;
    static_cast<T*>(a.to)[i] = is_there ? static_cast<const T*>(a.from)[place] : T{};
  }
}

// What is written lies at all places of the positions, and is read at those that they name, or the other way round.
template <class T, class Index, bool kTakes>
inline void move_along(const IndexArguments& a) {
  const int64_t length = a.count / (a.outer * a.inner);
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t row = i / a.inner / length * a.length + position<Index, IndexMode::kRaise>(a, i);
    const int64_t there = row * a.inner + i % a.inner;
    static_cast<T*>(a.to)[kTakes ? i : there] = static_cast<const T*>(a.from)[kTakes ? there : i];
  }
}

template <class T, class Index>
inline void mark_positions(const MarkArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count * a.depth; i += all_threads()) {
    const auto index = numeric_cast<int64_t>(static_cast<const Index*>(a.indices)[i / a.depth]);
    static_cast<T*>(a.to)[i] = numeric_cast<T>(index == i % a.depth ? a.on : a.off);
  }
}

// By one block.
template <class Index>
inline void find_outside(const CheckArguments& a) {
  const auto value = [&](int64_t k) { return numeric_cast<int64_t>(static_cast<const Index*>(a.indices)[k]); };
  int64_t first = a.count;
  for (int64_t k = threadIdx.x; k < a.count && first == a.count; k += kBlockThreads)
    if (value(k) < a.least || value(k) >= a.extent) first = k;
  first = Group<kBlockThreads>::combined(first, [](int64_t x, int64_t y) { return x < y ? x : y; });
  if (threadIdx.x != 0) return;
  a.found[0] = first < a.count ? first : -1;
  a.found[1] = first < a.count ? value(first) : 0;
}

}  // namespace headrace::device
#endif
