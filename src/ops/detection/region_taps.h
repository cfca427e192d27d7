// Samples between the elements of images, in the cells of a grid over each region, read by the compilers of host and
// device.
#pragma once

#include <cmath>
#include <cstdint>

namespace headrace {

// A sample between four elements of a plane.
template <class T>
struct Tap {
  int64_t places[4] = {0, 0, 0, 0};
  T weights[4] = {0, 0, 0, 0};
};

// Two neighbours along an axis, the border repeated, and how near the second is.
template <class T>
struct Between {
  int64_t low, high;
  T share;

  Between(T at, int64_t extent) {
    at = at < 0 ? T{0} : at;
    low = static_cast<int64_t>(at);
    high = low + 1;
    if (low >= extent - 1) {
      low = high = extent - 1;
      at = static_cast<T>(low);
    }
    share = at - static_cast<T>(low);
  }
};

// Whether a sample is near enough to the plane to have weights.
template <class T>
inline bool is_near(T at, int64_t extent) {
  return at >= -1 && at <= static_cast<T>(extent);
}

template <class T>
inline Tap<T> tap_at(T y, T x, int64_t height, int64_t width) {
  if (!is_near(y, height) || !is_near(x, width)) return {};
  const Between<T> rows(y, height), columns(x, width);
  const T down = rows.share, across = columns.share, up = 1 - down, back = 1 - across;
  return {{rows.low * width + columns.low, rows.low * width + columns.high, rows.high * width + columns.low,
           rows.high * width + columns.high},
          {up * back, up * across, down * back, down * across}};
}

// A region's rows and columns: where they begin and how far they reach.
template <class T>
struct Reach {
  T low[2], size[2];
};

// Of an upright region (image, x and y of two corners). `aligned`: coordinates are of pixels' corners.
template <class T>
inline Reach<T> reach_of(const T* region, T scale, bool aligned) {
  const T shift = aligned ? T{0.5} : T{0};
  Reach<T> reach;
  for (int axis = 0; axis < 2; ++axis) {
    reach.low[axis] = region[2 - axis] * scale - shift;
    const T size = region[4 - axis] * scale - shift - reach.low[axis];
    reach.size[axis] = !aligned && size < 1 ? T{1} : size;
  }
  return reach;
}

constexpr double kMostSamples = 1 << 22;  // of a region: more has no sense, and no end

// Of a cell along an axis: `ratio`, or about one per element where that is not positive.
template <class T>
inline double wanted_samples(T size, int64_t cells, int64_t ratio) {
  return ratio > 0 ? static_cast<double>(ratio) : static_cast<double>(std::ceil(size / static_cast<T>(cells)));
}

// Where sample k of a cell lies along an axis of `cells` cells with so many samples each.
template <class T>
inline T sample_place(T low, T size, int64_t cells, int64_t samples, int64_t cell, int64_t k) {
  const T cell_size = size / static_cast<T>(cells);
  return low + static_cast<T>(cell) * cell_size + (static_cast<T>(k) + T{0.5}) * cell_size / static_cast<T>(samples);
}

}  // namespace headrace
