// Runs of neighbouring elements of an array at places that several index arrays name together.
#pragma once

#include <cstdint>

namespace headrace::device {

constexpr int kMostAxes = 16;  // of what is indexed, and of the indices

// Adds to the offset of each index what one index array contributes along its axis.
struct OffsetArguments {
  const void* indices;
  int64_t* offsets;
  int64_t count, extent, stride;                 // of the axis
  int64_t is_first;                              // of the arrays: offsets hold nothing yet
  int64_t axes;                                  // of the indices' common shape
  int64_t shape[kMostAxes], strides[kMostAxes];  // strides: of this array
};

// Marks the indices that count where several name one place.
struct MarkedArguments {
  const int64_t* offsets;
  int64_t* marked;
  int64_t count, keeps_last;  // else the first
};

// Run (o, p) begins at the sum of `bases` axes and offsets[p]; among the values it is number (o, p), or (p, o).
struct RunArguments {
  const void* from;
  void* to;
  const int64_t* offsets;
  const int64_t* marked;  // of scatter and add
  int64_t outer, count, inner, index_first;
  int64_t axes;  // of outer
  int64_t shape[kMostAxes], strides[kMostAxes];
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/formula/numeric_cast.h"

namespace headrace::device {

inline int64_t thread_number() { return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; }
inline int64_t thread_count() { return gridDim.x * static_cast<int64_t>(blockDim.x); }

inline int64_t offset_in(int64_t number, int64_t axes, const int64_t* shape, const int64_t* strides) {
  int64_t offset = 0;
  for (int64_t d = axes; d-- > 0; number /= shape[d]) offset += number % shape[d] * strides[d];
  return offset;
}

// Indices have been checked; what is out of range only keeps to the array.
template <class Index>
inline void add_offsets(const OffsetArguments& a) {
  const auto* const indices = static_cast<const Index*>(a.indices);
  for (int64_t p = thread_number(); p < a.count; p += thread_count()) {
    auto index = numeric_cast<int64_t>(indices[offset_in(p, a.axes, a.shape, a.strides)]);
    if (index < 0) index += a.extent;
    index = index < 0 ? 0 : index < a.extent ? index : a.extent - 1;
    a.offsets[p] = (a.is_first ? 0 : a.offsets[p]) + index * a.stride;
  }
}

inline void mark_indices(const MarkedArguments& a) {
  for (int64_t p = thread_number(); p < a.count; p += thread_count()) {
    const int64_t begin = a.keeps_last ? p + 1 : 0, end = a.keeps_last ? a.count : p;
    bool is_alone = true;
    for (int64_t other = begin; other < end && is_alone; ++other) is_alone = a.offsets[other] != a.offsets[p];
    a.marked[p] = is_alone;
  }
}

// Calls f(index, outer, place of an element in the array, its number among the values).
template <class F>
inline void for_each_selected(const RunArguments& a, const F& f) {
  const int64_t size = a.outer * a.count * a.inner;
  for (int64_t i = thread_number(); i < size; i += thread_count()) {
    const int64_t element = i % a.inner, run = i / a.inner;
    const int64_t p = a.index_first ? run / a.outer : run % a.count, o = a.index_first ? run % a.outer : run / a.count;
    f(p, o, offset_in(o, a.axes, a.shape, a.strides) + a.offsets[p] + element, i);
  }
}

// Elements are only moved, so T is an unsigned integer of their size.
template <class T>
inline void gather_runs(const RunArguments& a) {
  for_each_selected(a, [&](int64_t, int64_t, int64_t place, int64_t i) {
    static_cast<T*>(a.to)[i] = static_cast<const T*>(a.from)[place];
  });
}

template <class T>
inline void scatter_runs(const RunArguments& a) {
  for_each_selected(a, [&](int64_t p, int64_t, int64_t place, int64_t i) {
    if (a.marked[p]) static_cast<T*>(a.to)[place] = static_cast<const T*>(a.from)[i];
  });
}

// The first index of a place adds what all of them have for it, in their order, to what is there.
template <class T, class Sum>
inline void add_runs(const RunArguments& a) {
  for_each_selected(a, [&](int64_t p, int64_t, int64_t place, int64_t i) {
    if (!a.marked[p]) return;
    const int64_t step = (a.index_first ? a.outer : 1) * a.inner;  // from one index to the next among the values
    Sum sum = static_cast<Sum>(static_cast<const T*>(a.to)[place]);
    for (int64_t other = p; other < a.count; ++other)
      if (a.offsets[other] == a.offsets[p])
        sum = static_cast<Sum>(sum + static_cast<Sum>(static_cast<const T*>(a.from)[i + (other - p) * step]));
    static_cast<T*>(a.to)[place] = static_cast<T>(sum);
  });
}

}  // namespace headrace::device
#endif
