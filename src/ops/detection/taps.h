// Samples between the elements of images, in the cells of a grid over each region. Pure functions; any thread.
#pragma once

#include <array>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/kernel.h"
#include "ops/detection/boxes.h"
#include "ops/detection/region_taps.h"
#include "ops/detection/regions.h"

namespace headrace {

// All samples of a region, cell by cell; none: the region is in no image.
template <class T>
struct Taps {
  std::vector<Tap<T>> taps = {};
  int64_t image = -1, of_cell = 0;

  // Of a cell's samples of the plane that begins at `plane`.
  T mean(const T* plane, int64_t cell) const {
    T sum = 0;
    for (int64_t k = cell * of_cell; k < (cell + 1) * of_cell; ++k) {
      const Tap<T>& tap = taps[static_cast<size_t>(k)];
      for (int corner = 0; corner < 4; ++corner) sum += tap.weights[corner] * plane[tap.places[corner]];
    }
    return sum / static_cast<T>(of_cell);
  }

  // Adds to the plane what the gradient of a cell's mean gives.
  void spread(T head, int64_t cell, T* plane) const {
    for (int64_t k = cell * of_cell; k < (cell + 1) * of_cell; ++k) {
      const Tap<T>& tap = taps[static_cast<size_t>(k)];
      for (int corner = 0; corner < 4; ++corner)
        plane[tap.places[corner]] += head * tap.weights[corner] / static_cast<T>(of_cell);
    }
  }
};

// Of a cell along each axis. Raises ValueError for more than kMostSamples.
template <class T>
std::array<int64_t, 2> samples_of(const char* name, const Reach<T>& reach, const std::array<int64_t, 2>& cells,
                                  int64_t ratio) {
  std::array<int64_t, 2> samples;
  for (size_t axis : {0, 1}) {
    const double wanted = wanted_samples(reach.size[axis], cells[axis], ratio);
    check(wanted <= kMostSamples, ErrorKind::kValue, "{}: a region of {} elements along an axis takes too many samples",
          name, static_cast<double>(reach.size[axis]));
    samples[axis] = static_cast<int64_t>(std::max(wanted, 0.0));  // of a region turned inside out: none
  }
  check(static_cast<double>(samples[0] * samples[1]) * static_cast<double>(cells[0] * cells[1]) <= kMostSamples,
        ErrorKind::kValue, "{}: a region takes more than {} samples", name, kMostSamples);
  return samples;
}

// `ratio` samples of a cell along each axis, or about one per element where it is not positive. `turn` moves a sample
// (y, x) to its place in the image.
template <class T, class F>
Taps<T> taps_of(const char* name, const RegionShapes& s, int64_t image, const Reach<T>& reach, int64_t ratio,
                F&& turn) {
  if (image < 0 || s.height == 0 || s.width == 0) return {};
  const std::array<int64_t, 2> cells{s.grid_height, s.grid_width};
  const std::array<int64_t, 2> samples = samples_of(name, reach, cells, ratio);
  const auto coordinate = [&](size_t axis, int64_t cell, int64_t sample) {
    return sample_place(reach.low[axis], reach.size[axis], cells[axis], samples[axis], cell, sample);
  };
  Taps<T> result{.image = image, .of_cell = samples[0] * samples[1]};
  result.taps.reserve(static_cast<size_t>(result.of_cell * s.cells()));
  for (int64_t cell = 0; cell < s.cells(); ++cell)
    for (int64_t k = 0; k < result.of_cell; ++k) {
      T y = coordinate(0, cell / s.grid_width, k / samples[1]), x = coordinate(1, cell % s.grid_width, k % samples[1]);
      turn(y, x);
      result.taps.push_back(tap_at(y, x, s.height, s.width));
    }
  return result;
}

// Calls f(number of the result's element, first element of its plane, its cell) for the channels [begin, end) of a
// region. With `own_channels` each cell has channels of its own.
template <class F>
void for_each_cell(const RegionShapes& s, int64_t image, int64_t r, bool own_channels, int64_t begin, int64_t end,
                   F&& f) {
  if (image < 0) return;
  const int64_t planes = own_channels ? s.channels * s.cells() : s.channels;
  for (int64_t channel = begin; channel < end; ++channel)
    for (int64_t cell = 0; cell < s.cells(); ++cell) {
      const int64_t plane = image * planes + (own_channels ? channel * s.cells() + cell : channel);
      f((r * s.channels + channel) * s.cells() + cell, plane * s.height * s.width, cell);
    }
}

// The means of the samples of all regions, `taps(s, r)` being those of region r.
template <class T, class F>
void align_regions(KernelContext& c, bool own_channels, F&& taps) {
  const RegionShapes s(c.input(0).shape, c.output(0).shape);
  const Reals<T> data(c.input(0));
  RealResult<T> out(c.output(0), 0);
  parallel_for(s.regions, 1, 20.0 * static_cast<double>(c.output(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Taps<T> own = taps(s, r);
      for_each_cell(s, own.image, r, own_channels, 0, s.channels,
                    [&](int64_t at, int64_t plane, int64_t cell) { out[at] = own.mean(data.at(plane), cell); });
    }
  });
  out.store();
}

// Its gradient, from that of the means.
template <class T, class F>
void spread_regions(KernelContext& c, bool own_channels, F&& taps) {
  const RegionShapes s(c.output(0).shape, c.input(0).shape);
  const Reals<T> head(c.input(0));
  RealResult<T> out(c.output(0), 0);
  parallel_for(s.channels, 1, 20.0 * static_cast<double>(c.input(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < s.regions; ++r) {
      const Taps<T> own = taps(s, r);
      for_each_cell(s, own.image, r, own_channels, begin, end,
                    [&](int64_t at, int64_t plane, int64_t cell) { own.spread(head[at], cell, out.at(plane)); });
    }
  });
  out.store();
}

}  // namespace headrace
