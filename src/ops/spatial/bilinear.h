// Samples of a plane between its elements, read by the compilers of host and device.
#pragma once

#include <cmath>
#include <cstdint>

namespace headrace {

// A place on an axis: the elements before and behind it, and how near the second is.
template <class T>
struct Place {
  int64_t low = 0, high = 0;
  T share = 0;
  bool has_low = false, has_high = false;
};

// Where a coordinate from -1, the centre of the first of n elements, to 1, that of the last, lies among them.
template <class T>
T sampled_place(T x, int64_t n) {
  return (x + 1) * static_cast<T>(n - 1) / 2;
}

// Beyond the ends of the axis, of `n` elements, there are zeros. A nan is nowhere.
template <class T>
Place<T> place_among_zeros(T x, int64_t n) {
  if (!(x >= -1 && x < static_cast<T>(n))) return {};
  const auto low = static_cast<int64_t>(std::floor(x));
  return {low, low + 1, x - static_cast<T>(low), low >= 0, low + 1 < n};
}

// Beyond the last element the axis goes on as it is there; before the first there is nothing.
template <class T>
Place<T> place_before_end(T x, int64_t n) {
  if (!(x >= 0 && x < static_cast<T>(n))) return {};
  const auto low = static_cast<int64_t>(x);
  if (low >= n - 1) return {n - 1, n - 1, 0, true, true};
  return {low, low + 1, x - static_cast<T>(low), true, true};
}

// For half an element at both ends the axis goes on as it is there, and then there is nothing. On an element there is
// no slope.
template <class T>
Place<T> place_between(T x, int64_t n) {
  const T last = static_cast<T>(n - 1);
  if (n == 0 || !(x >= T{-0.5} && x <= last + T{0.5})) return {};
  const T inside = x < 0 ? 0 : x > last ? last : x;
  const auto low = static_cast<int64_t>(inside);
  const T share = inside - static_cast<T>(low);
  return {low, share > 0 ? low + 1 : low, share, true, true};
}

// The elements around a place in a plane that are there, their weights, and how these change from row to row (`down`)
// and from column to column (`across`).
template <class T>
struct Taps {
  int count = 0;
  int64_t at[4] = {};
  T weight[4] = {}, down[4] = {}, across[4] = {};

  Taps(const Place<T>& row, const Place<T>& column, int64_t width) {
    for (int corner = 0; corner < 4; ++corner) {
      const bool low_row = corner < 2, low_column = corner % 2 == 0;
      if (!(low_row ? row.has_low : row.has_high) || !(low_column ? column.has_low : column.has_high)) continue;
      const T y = low_row ? 1 - row.share : row.share, x = low_column ? 1 - column.share : column.share;
      at[count] = (low_row ? row.low : row.high) * width + (low_column ? column.low : column.high);
      weight[count] = y * x;
      down[count] = low_row ? -x : x;
      across[count] = low_column ? -y : y;
      ++count;
    }
  }

  T value(const T* plane) const { return weighted(weight, plane); }
  T slope_down(const T* plane) const { return weighted(down, plane); }
  T slope_across(const T* plane) const { return weighted(across, plane); }
  void add_to(T* plane, T amount) const {
    for (int k = 0; k < count; ++k) plane[at[k]] += weight[k] * amount;
  }

 private:
  T weighted(const T* weights, const T* plane) const {
    T sum = 0;
    for (int k = 0; k < count; ++k) sum += weights[k] * plane[at[k]];
    return sum;
  }
};

}  // namespace headrace
