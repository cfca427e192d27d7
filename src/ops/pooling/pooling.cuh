// Pooling: the result of each window, the gradient of each element, the change of each result.
#pragma once

#include "ops/convolution/window.cuh"

namespace headrace::device {

// As ops/pooling/pooling.h counts them.
enum class PoolKind { kMax, kAverage, kSum, kNorm };

struct PoolingArguments {
  const void* data;
  void* result;
  void* moving;     // shaped as data; null in the forward pass
  int32_t* places;  // where each window has its largest element; null: not known
  int64_t images, channels;
  WindowGeometry window;
  ImageStrides data_strides, result_strides, moving_strides;
  double least;  // the largest of nothing
  int64_t p, counts_padding;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>

#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// Elements [begin, end) inside data of the window at y, and how many an average counts.
struct Stand {
  Place begin, end;
  int64_t counted;
};

inline Stand stand_at(const PoolingArguments& a, const Place& y) {
  Stand w{};
  int64_t with_padding = 1, inside = 1;
  for (int d = 0; d < 3; ++d) {
    const int64_t first = y.at[d] * a.window.step[d] - a.window.pad[d];
    const int64_t last = smaller(first + a.window.kernel[d], a.window.data[d] + a.window.pad[d]);
    w.begin.at[d] = larger(first, 0);
    w.end.at[d] = smaller(last, a.window.data[d]);
    with_padding *= last - first;
    inside *= larger(0, w.end.at[d] - w.begin.at[d]);
  }
  w.counted = larger(1, a.counts_padding ? with_padding : inside);
  return w;
}

template <class F>
inline void for_elements(const Stand& w, const F& f) {
  Place x;
  for (x.at[0] = w.begin.at[0]; x.at[0] < w.end.at[0]; ++x.at[0])
    for (x.at[1] = w.begin.at[1]; x.at[1] < w.end.at[1]; ++x.at[1])
      for (x.at[2] = w.begin.at[2]; x.at[2] < w.end.at[2]; ++x.at[2]) f(x);
}

inline double power(double x, int64_t p) { return p == 0 ? 1 : p == 1 ? x : p == 2 ? x * x : x * x * x; }

// One plane of data, whose windows are pooled.
template <class T, PoolKind kKind>
struct Pooled {
  const PoolingArguments& a;
  const T* plane;

  T value(const Place& x) const { return plane[offset_of(x, a.data_strides.place)]; }
  double wide(const Place& x) const { return numeric_cast<double>(value(x)); }

  // The first of the largest, or of the NaN; whether there is any.
  bool largest(const Stand& w, Place& at) const {
    bool found = false;
    T best{};
    for_elements(w, [&](const Place& x) {
      const T one = value(x);
      if (found && !(one > best) && best == best) return;
      best = one;
      at = x;
      found = true;
    });
    return found;
  }
  double norm(const Stand& w) const {
    double sum = 0;
    for_elements(w, [&](const Place& x) { sum += power(wide(x), a.p); });
    return a.p == 1 ? sum : a.p == 2 ? std::sqrt(sum) : std::cbrt(sum);
  }

  T result(const Stand& w) const {
    using Sum = std::conditional_t<is_real<T>, double, int64_t>;
    if constexpr (kKind == PoolKind::kMax) {
      Place at{};
      return largest(w, at) ? value(at) : numeric_cast<T>(a.least);
    } else if constexpr (kKind == PoolKind::kNorm) {
      return numeric_cast<T>(norm(w));
    } else {
      Sum sum = 0;
      for_elements(w, [&](const Place& x) { sum += numeric_cast<Sum>(value(x)); });
      return numeric_cast<T>(kKind == PoolKind::kSum ? sum : sum / static_cast<Sum>(w.counted));
    }
  }

  // Calls f(element, slope) for the elements whose change changes the result.
  template <class F>
  void for_slopes(const Stand& w, const F& f) const {
    if constexpr (kKind == PoolKind::kMax) {
      Place at{};
      if (largest(w, at)) f(at, 1.0);
    } else if constexpr (kKind == PoolKind::kNorm) {
      const double whole = norm(w);
      if (whole != 0) for_elements(w, [&](const Place& x) { f(x, power(wide(x) / whole, a.p - 1)); });
    } else {
      const double slope = kKind == PoolKind::kSum ? 1 : 1 / static_cast<double>(w.counted);
      for_elements(w, [&](const Place& x) { f(x, slope); });
    }
  }
};

// Calls f(place, plane of data, image, channel, offset in memory of `strides`) for each place of images of `extents`.
template <class T, PoolKind kKind, class F>
inline void for_each_place(const PoolingArguments& a, const int64_t* extents, const ImageStrides& strides, const F& f) {
  const int64_t places = count_of(extents), size = a.images * a.channels * places;
  for (int64_t i = first_of_thread(); i < size; i += all_threads()) {
    const int64_t channel = i / places % a.channels, image = i / places / a.channels;
    const Pooled<T, kKind> pooled{
        a, static_cast<const T*>(a.data) + image * a.data_strides.first + channel * a.data_strides.channel};
    const Place place = place_of(i % places, extents);
    f(place, pooled, image, channel,
      image * strides.first + channel * strides.channel + offset_of(place, strides.place));
  }
}

template <class T, PoolKind kKind>
inline void pool(const PoolingArguments& a) {
  for_each_place<T, kKind>(a, a.window.out, a.result_strides,
                           [&](const Place& y, const auto& pooled, int64_t, int64_t, int64_t offset) {
                             static_cast<T*>(a.result)[offset] = pooled.result(stand_at(a, y));
                           });
}

template <class T, PoolKind kKind>
inline void pool_tangent(const PoolingArguments& a) {
  for_each_place<T, kKind>(a, a.window.out, a.result_strides,
                           [&](const Place& y, const auto& pooled, int64_t image, int64_t channel, int64_t offset) {
                             const T* const change = static_cast<const T*>(a.moving) + image * a.moving_strides.first +
                                                     channel * a.moving_strides.channel;
                             double sum = 0;
                             pooled.for_slopes(stand_at(a, y), [&](const Place& x, double slope) {
                               sum += slope * numeric_cast<double>(change[offset_of(x, a.moving_strides.place)]);
                             });
                             static_cast<T*>(a.result)[offset] = numeric_cast<T>(sum);
                           });
}

// The windows that have element x. Indices are divided as Index, which is faster where they are short.
template <class Index>
inline Stand windows_over(const PoolingArguments& a, const Place& x) {
  Stand over{};
  for (int d = 0; d < 3; ++d) {
    const auto step = static_cast<Index>(a.window.step[d]);
    const auto last = static_cast<Index>(x.at[d] + a.window.pad[d]);
    const auto first = static_cast<Index>(last - a.window.kernel[d] + 1);
    over.begin.at[d] = first <= 0 ? 0 : (first + step - 1) / step;
    over.end.at[d] = smaller(last / step + 1, a.window.out[d]);
  }
  return over;
}

// In `places`, which lie as (image, place, channel), the number of the element among those of its plane; -1: none.
template <class T>
inline void pool_places(const PoolingArguments& a) {
  const int64_t* const in = a.window.data;
  const int64_t places = count_of(a.window.out), size = a.images * a.channels * places;
  for (int64_t i = first_of_thread(); i < size; i += all_threads()) {
    const int64_t channel = i % a.channels, image = i / a.channels / places;
    const Pooled<T, PoolKind::kMax> pooled{
        a, static_cast<const T*>(a.data) + image * a.data_strides.first + channel * a.data_strides.channel};
    Place at{};
    const bool found = pooled.largest(stand_at(a, place_of(i / a.channels % places, a.window.out)), at);
    a.places[i] = found ? static_cast<int32_t>((at.at[0] * in[1] + at.at[1]) * in[2] + at.at[2]) : -1;
  }
}

// As pool_back, where `places` are known.
template <class T>
inline void pool_back_to_places(const PoolingArguments& a) {
  const int64_t *const in = a.window.data, *const out = a.window.out;
  const int64_t elements = count_of(in), size = a.images * a.channels * elements;
  for (int64_t i = first_of_thread(); i < size; i += all_threads()) {
    const int64_t channel = i % a.channels, image = i / a.channels / elements;
    const auto number = static_cast<int32_t>(i / a.channels % elements);
    const Place x = place_of(number, in);
    const T* const heads =
        static_cast<const T*>(a.result) + image * a.result_strides.first + channel * a.result_strides.channel;
    const int32_t* const places = a.places + image * count_of(out) * a.channels + channel;
    double sum = 0;
    for_elements(windows_over<int64_t>(a, x), [&](const Place& y) {
      if (places[((y.at[0] * out[1] + y.at[1]) * out[2] + y.at[2]) * a.channels] == number)
        sum += numeric_cast<double>(heads[offset_of(y, a.result_strides.place)]);
    });
    static_cast<T*>(a.moving)[image * a.moving_strides.first + channel * a.moving_strides.channel +
                              offset_of(x, a.moving_strides.place)] = numeric_cast<T>(sum);
  }
}

// Each element sums what the windows over it give it, in their order.
template <class T, PoolKind kKind>
inline void pool_back(const PoolingArguments& a) {
  for_each_place<T, kKind>(a, a.window.data, a.moving_strides,
                           [&](const Place& x, const auto& pooled, int64_t image, int64_t channel, int64_t offset) {
                             const T* const heads = static_cast<const T*>(a.result) + image * a.result_strides.first +
                                                    channel * a.result_strides.channel;
                             double sum = 0;
                             for_elements(windows_over<int64_t>(a, x), [&](const Place& y) {
                               const double head = numeric_cast<double>(heads[offset_of(y, a.result_strides.place)]);
                               pooled.for_slopes(stand_at(a, y), [&](const Place& seen, double slope) {
                                 if (seen.at[0] == x.at[0] && seen.at[1] == x.at[1] && seen.at[2] == x.at[2])
                                   sum += slope * head;
                               });
                             });
                             static_cast<T*>(a.moving)[offset] = numeric_cast<T>(sum);
                           });
}

}  // namespace headrace::device
#endif
