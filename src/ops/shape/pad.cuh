// Borders around arrays.
#pragma once

#include <cstdint>

namespace headrace::device {

// As ops/shape/pad.h says them.
enum class Border { kConstant, kEdge, kReflect, kSymmetric, kWrap };

constexpr int kMostPaddedAxes = 16;

struct PadArguments {
  const void* from;
  void* to;
  int64_t count;  // of elements that are written
  int64_t axes;
  int64_t extents[kMostPaddedAxes], before[kMostPaddedAxes], after[kMostPaddedAxes];  // extents: without the border
  uint64_t filling;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/formula/numeric_cast.h"

namespace headrace::device {

inline int64_t remainder(int64_t a, int64_t b) { return (a % b + b) % b; }

// Which element of an axis stands at place i, which may lie outside; below 0 for a constant.
template <Border kBorder>
inline int64_t source_of(int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  if constexpr (kBorder == Border::kConstant) return -1;
  if constexpr (kBorder == Border::kEdge) return i < 0 ? 0 : extent - 1;
  if constexpr (kBorder == Border::kWrap) return remainder(i, extent);
  if (kBorder == Border::kReflect && extent == 1) return 0;
  constexpr int kShared = kBorder == Border::kReflect ? 1 : 0;  // of the edges, seen from both sides
  const int64_t place = remainder(i, 2 * (extent - kShared));
  return place < extent ? place : 2 * extent - 1 - kShared - place;
}

inline int64_t pad_begin() { return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; }
inline int64_t pad_step() { return gridDim.x * static_cast<int64_t>(blockDim.x); }

// Elements are only moved, so T is an unsigned integer of their size.
template <class T, Border kBorder>
inline void pad_elements(const PadArguments& a) {
  for (int64_t i = pad_begin(); i < a.count; i += pad_step()) {
    int64_t rest = i, offset = 0, stride = 1;
    bool is_inside = true;
    for (int64_t d = a.axes; d-- > 0;) {
      const int64_t whole = a.before[d] + a.extents[d] + a.after[d];
      const int64_t from = source_of<kBorder>(rest % whole - a.before[d], a.extents[d]);
      is_inside = is_inside && from >= 0;
      offset += from * stride;
      stride *= a.extents[d];
      rest /= whole;
    }
    static_cast<T*>(a.to)[i] = is_inside ? static_cast<const T*>(a.from)[offset] : static_cast<T>(a.filling);
  }
}

// Of each axis an element can have copies at its own place and at those of the border: all choices are gone through.
template <class T, class Sum, Border kBorder>
inline void collect_copies(const PadArguments& a) {
  int64_t choices = 1;
  for (int64_t d = 0; d < a.axes; ++d) choices *= 1 + a.before[d] + a.after[d];
  for (int64_t i = pad_begin(); i < a.count; i += pad_step()) {
    Sum sum{};
    for (int64_t choice = 0; choice < choices; ++choice) {
      int64_t rest = i, of_choice = choice, offset = 0, stride = 1;
      bool is_copy = true;
      for (int64_t d = a.axes; d-- > 0;) {
        const int64_t own = rest % a.extents[d], number = of_choice % (1 + a.before[d] + a.after[d]);
        int64_t place = own;  // counted from the first element
        if (number > 0) place = number <= a.before[d] ? -number : a.extents[d] + number - a.before[d] - 1;
        is_copy = is_copy && source_of<kBorder>(place, a.extents[d]) == own;
        offset += (place + a.before[d]) * stride;
        stride *= a.before[d] + a.extents[d] + a.after[d];
        rest /= a.extents[d];
        of_choice /= 1 + a.before[d] + a.after[d];
      }
      if (is_copy) sum += numeric_cast<Sum>(static_cast<const T*>(a.from)[offset]);
    }
    static_cast<T*>(a.to)[i] = numeric_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
