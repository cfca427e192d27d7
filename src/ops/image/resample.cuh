// Linear maps of images that act on rows and columns separately.
#pragma once

#include <cstdint>

namespace headrace::device {

enum class ResampleKind { kMean, kAligned, kCentred, kNearest };

// Of one axis of the map: extents before and afterwards, whichever way it is gone.
struct ResampleAxis {
  int64_t before, after;
};

struct ResampleArguments {
  const void* from;
  void* to;
  int64_t planes;
  ResampleAxis rows, columns;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/formula/numeric_cast.h"

namespace headrace::device {

// The elements of which result i is made: neighbours, and how much of the second of two comes in.
struct Taps {
  int64_t first, last;
  double share;
};

template <ResampleKind kKind>
inline Taps taps_of(int64_t i, const ResampleAxis& axis) {
  const int64_t n = axis.before, out = axis.after;
  if constexpr (kKind == ResampleKind::kNearest) return {i * n / out, i * n / out, 0};
  if constexpr (kKind == ResampleKind::kMean) return {i * n / out, ((i + 1) * n + out - 1) / out - 1, 0};
  const auto at = static_cast<double>(i);
  double place = 0;
  if constexpr (kKind == ResampleKind::kAligned) {
    if (out > 1) place = at * static_cast<double>(n - 1) / static_cast<double>(out - 1);
  } else {
    place = (at + 0.5) * (static_cast<double>(n) / static_cast<double>(out)) - 0.5;
    if (place < 0) place = 0;
  }
  const auto whole = static_cast<int64_t>(place);
  const int64_t low = whole < n - 1 ? whole : n - 1;
  const double share = low + 1 < n ? place - static_cast<double>(low) : 0;
  return {low, share > 0 ? low + 1 : low, share};
}

template <ResampleKind kKind>
inline double weight_of(const Taps& taps, int64_t element) {
  if constexpr (kKind == ResampleKind::kNearest) return 1;
  if constexpr (kKind == ResampleKind::kMean) return 1 / static_cast<double>(taps.last - taps.first + 1);
  return element == taps.first ? 1 - taps.share : taps.share;
}

// Calls f(place in the source, weight) in ascending order.
template <ResampleKind kKind, bool kTransposed, class F>
inline void for_each_tap(int64_t i, const ResampleAxis& axis, const F& f) {
  if constexpr (kTransposed) {
    int64_t begin = 0, end = axis.after;  // the first result that is made of element i, or of those behind it
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      if (taps_of<kKind>(middle, axis).last < i)
        begin = middle + 1;
      else
        end = middle;
    }
    for (; begin < axis.after; ++begin) {
      const Taps taps = taps_of<kKind>(begin, axis);
      if (taps.first > i) return;
      f(begin, weight_of<kKind>(taps, i));
    }
  } else {
    const Taps taps = taps_of<kKind>(i, axis);
    for (int64_t k = taps.first; k <= taps.last; ++k) f(k, weight_of<kKind>(taps, k));
  }
}

template <class Compute, class T, ResampleKind kKind, bool kTransposed>
inline void resample(const ResampleArguments& a) {
  const int64_t height = kTransposed ? a.rows.before : a.rows.after,
                width = kTransposed ? a.columns.before : a.columns.after;
  const int64_t from_height = kTransposed ? a.rows.after : a.rows.before,
                from_width = kTransposed ? a.columns.after : a.columns.before;
  const int64_t size = a.planes * height * width;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < size;
       i += gridDim.x * static_cast<int64_t>(blockDim.x)) {
    const T* const plane = static_cast<const T*>(a.from) + i / width / height * from_height * from_width;
    Compute sum = 0;
    for_each_tap<kKind, kTransposed>(i % width, a.columns, [&](int64_t column, double of_column) {
      Compute line = 0;
      for_each_tap<kKind, kTransposed>(i / width % height, a.rows, [&](int64_t row, double of_row) {
        line += static_cast<Compute>(of_row) * numeric_cast<Compute>(plane[row * from_width + column]);
      });
      sum += static_cast<Compute>(of_column) * line;
    });
    static_cast<T*>(a.to)[i] = numeric_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
