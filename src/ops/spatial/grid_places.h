// Coordinates of elements, from -1 to 1 over an image. Read by the compilers of host and device.
#pragma once

#include <cstdint>

namespace headrace {

// Between neighbours of n elements.
template <class T>
inline T grid_step(int64_t n) {
  return static_cast<T>(2.0 / static_cast<double>(n - 1));
}

template <class T>
inline T grid_coordinate(int64_t i, T step) {
  return static_cast<T>(i) * step - 1;
}

// What a row of an affine map (across, down, shift) gives for the first of three.
template <class T>
inline T affine_shift(const T* row, T down) {
  return row[1] * down + row[2];
}

template <class T>
inline T half_extent(int64_t n) {
  return static_cast<T>(static_cast<double>(n - 1) / 2);
}

// How far away x elements are, from the element at `place` where asked.
template <class T>
inline T warped(T x, int64_t place, T half, bool has_place) {
  return has_place ? (x + static_cast<T>(place)) / half - 1 : x / half;
}

}  // namespace headrace
