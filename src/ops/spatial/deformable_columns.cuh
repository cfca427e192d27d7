// What the windows of a convolution see when each of their elements is moved by an offset of its own.
#pragma once

#include <cstdint>

namespace headrace::device {

// Groups count images, too; of a group there are `channels`.
struct DeformedArguments {
  const void* head;  // the gradient of columns; null: columns are made
  const void* data;
  const void* offset;
  const void* mask;  // null: none
  void* to;          // columns, or gradients of offsets
  void* mask_to;     // gradients of masks; null: none
  int64_t groups, channels, height, width, windows[2], kernel[2], stride[2], dilate[2], pad[2];
};

// What is seen of elements, four shares to a place: their places in a plane, or -1, in the order of their places for
// what adds them up, those of one place in their own order.
struct DeformedShareArguments {
  DeformedArguments of;
  int64_t* places;
  const int64_t* order;
  void* weights;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"
#include "ops/spatial/bilinear.h"

namespace headrace::device {

// Of a group: places in windows, element after element.
inline int64_t seen_count(const DeformedArguments& a) {
  return a.kernel[0] * a.kernel[1] * a.windows[0] * a.windows[1];
}

// Without a mask places count from the first element to behind the last, as if the images went on there; with a mask
// they are among zeros.
template <class Compute>
inline headrace::Place<Compute> seen_place(const DeformedArguments& a, Compute x, int64_t extent) {
  return a.mask ? place_among_zeros(x, extent) : place_before_end(x, extent);
}

// Of place s of a group.
template <class Compute, class T>
inline Taps<Compute> seen_taps(const DeformedArguments& a, int64_t group, int64_t s) {
  const int64_t count = a.windows[0] * a.windows[1], e = s / count, k = s % count;
  const T* const moved = static_cast<const T*>(a.offset) + 2 * (group * a.kernel[0] * a.kernel[1] + e) * count + k;
  const int64_t y = k / a.windows[1] * a.stride[0] - a.pad[0] + e / a.kernel[1] * a.dilate[0];
  const int64_t x = k % a.windows[1] * a.stride[1] - a.pad[1] + e % a.kernel[1] * a.dilate[1];
  return {seen_place(a, static_cast<Compute>(y) + numeric_cast<Compute>(moved[0]), a.height),
          seen_place(a, static_cast<Compute>(x) + numeric_cast<Compute>(moved[count]), a.width), a.width};
}

template <class Compute, class T>
inline Compute seen_share(const DeformedArguments& a, int64_t group, int64_t s) {
  return a.mask ? numeric_cast<Compute>(static_cast<const T*>(a.mask)[group * seen_count(a) + s]) : Compute{1};
}

template <class Compute, class T>
inline Compute seen_value(const Taps<Compute>& taps, const Compute* weights, const T* plane) {
  Compute sum = 0;
  for (int k = 0; k < taps.count; ++k) sum += weights[k] * numeric_cast<Compute>(plane[taps.at[k]]);
  return sum;
}

template <class Compute, class T>
inline void see_deformed(const DeformedArguments& a) {
  const int64_t seen = seen_count(a);
  for (int64_t i = first_of_thread(); i < a.groups * a.channels * seen; i += all_threads()) {
    const int64_t s = i % seen, plane = i / seen, group = plane / a.channels;
    const Taps<Compute> taps = seen_taps<Compute, T>(a, group, s);
    const T* const image = static_cast<const T*>(a.data) + plane * a.height * a.width;
    static_cast<T*>(a.to)[i] =
        numeric_cast<T>(seen_share<Compute, T>(a, group, s) * seen_value(taps, taps.weight, image));
  }
}

template <class Compute, class T>
inline void slopes_of_offsets(const DeformedArguments& a) {
  const int64_t seen = seen_count(a), count = a.windows[0] * a.windows[1];
  for (int64_t i = first_of_thread(); i < a.groups * seen; i += all_threads()) {
    const int64_t s = i % seen, group = i / seen;
    const Taps<Compute> taps = seen_taps<Compute, T>(a, group, s);
    const auto share = seen_share<Compute, T>(a, group, s);
    Compute down = 0, across = 0, value = 0;
    for (int64_t plane = group * a.channels; plane < (group + 1) * a.channels; ++plane) {
      const auto amount = numeric_cast<Compute>(static_cast<const T*>(a.head)[plane * seen + s]);
      const T* const image = static_cast<const T*>(a.data) + plane * a.height * a.width;
      down += amount * seen_value(taps, taps.down, image);
      across += amount * seen_value(taps, taps.across, image);
      if (a.mask_to) value += amount * seen_value(taps, taps.weight, image);
    }
    T* const moved = static_cast<T*>(a.to) + 2 * (group * seen + s / count * count) + s % count;
    moved[0] = numeric_cast<T>(share * down);
    moved[count] = numeric_cast<T>(share * across);
    if (a.mask_to) static_cast<T*>(a.mask_to)[i] = numeric_cast<T>(value);
  }
}

template <class Compute, class T>
inline void shares_of_seen(const DeformedShareArguments& a) {
  const int64_t seen = seen_count(a.of);
  for (int64_t i = first_of_thread(); i < a.of.groups * seen; i += all_threads()) {
    const Taps<Compute> taps = seen_taps<Compute, T>(a.of, i / seen, i % seen);
    for (int corner = 0; corner < 4; ++corner) {
      a.places[4 * i + corner] = corner < taps.count ? taps.at[corner] : -1;
      static_cast<Compute*>(a.weights)[4 * i + corner] = corner < taps.count ? taps.weight[corner] : Compute{0};
    }
  }
}

// The first share of a place adds up all of them.
template <class Compute, class T>
inline void spread_seen(const DeformedShareArguments& a) {
  const int64_t seen = seen_count(a.of), shares = 4 * seen;
  for (int64_t i = first_of_thread(); i < a.of.groups * a.of.channels * shares; i += all_threads()) {
    const int64_t s = i % shares, plane = i / shares, group = plane / a.of.channels, first = group * shares;
    const int64_t place = a.places[first + s];
    if (place < 0 || (s > 0 && a.places[first + s - 1] == place)) continue;
    Compute sum = 0;
    for (int64_t k = s; k < shares && a.places[first + k] == place; ++k) {
      const int64_t share = a.order[first + k];
      const auto amount = numeric_cast<Compute>(static_cast<const T*>(a.of.head)[plane * seen + share / 4]);
      sum += static_cast<const Compute*>(a.weights)[first + share] *
             (seen_share<Compute, T>(a.of, group, share / 4) * amount);
    }
    static_cast<T*>(a.of.to)[plane * a.of.height * a.of.width + place] = numeric_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
