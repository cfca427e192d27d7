// Images seen at the places of grids.
#pragma once

#include <cstdint>

namespace headrace::device {

struct SamplerArguments {
  const void* head;  // the gradient of samples; null: samples are made
  const void* data;
  const void* grid;
  void* to;  // samples, or gradients of grids
  int64_t batch, channels, height, width, samples;
};

// What samples have of elements, four to a sample, places being those in a plane, or -1.
struct SharesArguments {
  const void* grid;
  int64_t* places;
  void* weights;
  int64_t batch, height, width, samples;
};

// The shares of each image are in the order of their places, those of one place in their own order.
struct SpreadArguments {
  const void* head;
  const int64_t* places;
  const int64_t* order;
  const void* weights;
  void* to;  // zeros so far
  int64_t batch, channels, area, samples;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"
#include "ops/spatial/bilinear.h"

namespace headrace::device {

template <class Compute, class T>
inline Compute grid_place(const void* grid, int64_t axis, int64_t n, int64_t k, int64_t samples, int64_t extent) {
  return sampled_place(numeric_cast<Compute>(static_cast<const T*>(grid)[(2 * n + axis) * samples + k]), extent);
}

template <class Compute>
inline Taps<Compute> taps_among_zeros(Compute row, Compute column, int64_t height, int64_t width) {
  return Taps<Compute>(place_among_zeros(row, height), place_among_zeros(column, width), width);
}

template <class Compute, class T>
inline Compute weighted_elements(const Taps<Compute>& taps, const Compute* weights, const T* plane) {
  Compute sum = 0;
  for (int k = 0; k < taps.count; ++k) sum += weights[k] * numeric_cast<Compute>(plane[taps.at[k]]);
  return sum;
}

template <class Compute, class T>
inline void sample_images(const SamplerArguments& a) {
  for (int64_t i = first_of_thread(); i < a.batch * a.channels * a.samples; i += all_threads()) {
    const int64_t k = i % a.samples, plane = i / a.samples, n = plane / a.channels;
    const auto row = grid_place<Compute, T>(a.grid, 1, n, k, a.samples, a.height);
    const auto column = grid_place<Compute, T>(a.grid, 0, n, k, a.samples, a.width);
    const Taps<Compute> taps = taps_among_zeros(row, column, a.height, a.width);
    const T* const image = static_cast<const T*>(a.data) + plane * a.height * a.width;
    const Compute nowhere = Compute{0} * (row + column);  // nan where the place is none
    static_cast<T*>(a.to)[i] = numeric_cast<T>(weighted_elements(taps, taps.weight, image) + nowhere);
  }
}

template <class Compute, class T>
inline void slopes_of_grids(const SamplerArguments& a) {
  for (int64_t i = first_of_thread(); i < a.batch * a.samples; i += all_threads()) {
    const int64_t k = i % a.samples, n = i / a.samples;
    const Taps<Compute> taps = taps_among_zeros(grid_place<Compute, T>(a.grid, 1, n, k, a.samples, a.height),
                                                grid_place<Compute, T>(a.grid, 0, n, k, a.samples, a.width), a.height,
                                                a.width);
    Compute down = 0, across = 0;
    for (int64_t channel = 0; channel < a.channels; ++channel) {
      const int64_t plane = n * a.channels + channel;
      const auto amount = numeric_cast<Compute>(static_cast<const T*>(a.head)[plane * a.samples + k]);
      const T* const image = static_cast<const T*>(a.data) + plane * a.height * a.width;
      down += amount * weighted_elements(taps, taps.down, image);
      across += amount * weighted_elements(taps, taps.across, image);
    }
    T* const to = static_cast<T*>(a.to) + 2 * n * a.samples + k;
    to[0] = numeric_cast<T>(across * static_cast<Compute>(a.width - 1) / 2);
    to[a.samples] = numeric_cast<T>(down * static_cast<Compute>(a.height - 1) / 2);
  }
}

template <class Compute, class T>
inline void shares_of_elements(const SharesArguments& a) {
  for (int64_t i = first_of_thread(); i < a.batch * a.samples; i += all_threads()) {
    const int64_t k = i % a.samples, n = i / a.samples;
    const Taps<Compute> taps = taps_among_zeros(grid_place<Compute, T>(a.grid, 1, n, k, a.samples, a.height),
                                                grid_place<Compute, T>(a.grid, 0, n, k, a.samples, a.width), a.height,
                                                a.width);
    for (int corner = 0; corner < 4; ++corner) {
      a.places[4 * i + corner] = corner < taps.count ? taps.at[corner] : -1;
      static_cast<Compute*>(a.weights)[4 * i + corner] = corner < taps.count ? taps.weight[corner] : Compute{0};
    }
  }
}

// The first share of a place adds up all of them, in the order of the samples.
template <class Compute, class T>
inline void spread_shares(const SpreadArguments& a) {
  const int64_t shares = 4 * a.samples;
  for (int64_t i = first_of_thread(); i < a.batch * a.channels * shares; i += all_threads()) {
    const int64_t s = i % shares, plane = i / shares, first = plane / a.channels * shares;
    const int64_t place = a.places[first + s];
    if (place < 0 || (s > 0 && a.places[first + s - 1] == place)) continue;
    Compute sum = 0;
    for (int64_t k = s; k < shares && a.places[first + k] == place; ++k) {
      const int64_t share = a.order[first + k];
      sum += static_cast<const Compute*>(a.weights)[first + share] *
             numeric_cast<Compute>(static_cast<const T*>(a.head)[plane * a.samples + share / 4]);
    }
    static_cast<T*>(a.to)[plane * a.area + place] = numeric_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
