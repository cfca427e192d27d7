// Means of samples between the elements of images, in the cells of grids over regions.
#pragma once

#include <cstdint>

namespace headrace::device {

// A region as its samples need it.
template <class T>
struct Measured {
  int64_t image;  // -1: none, or what the host raises an error for
  int64_t samples[2];
  T low[2], size[2];
};

// The first region of a block that the host raises an error for: its number, or -1, and its own numbers.
struct WrongRegion {
  int64_t place;
  double numbers[5];
};

struct MeasureArguments {
  const void* regions;
  void* measured;
  WrongRegion* found;  // of each block
  int64_t count, images;
  int64_t cells[2], ratio, aligned;
  double scale;
};

// `own_channels`: of each cell.
struct AlignArguments {
  const void* from;
  const void* measured;
  void* to;
  int64_t count;  // of elements of `to`
  int64_t regions, channels, height, width, grid_height, grid_width, own_channels;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/first_wrong.cuh"
#include "ops/detection/region_places.h"
#include "ops/detection/region_taps.h"

namespace headrace::device {

// Whether there is no error.
template <class Compute>
inline bool measure(const MeasureArguments& a, const Compute* region, Measured<Compute>& m) {
  m.image = image_of_region(region[0] < 0 ? Compute{-1} : region[0], a.images);
  if (m.image < 0) return true;
  const Reach<Compute> reach = reach_of(region, static_cast<Compute>(a.scale), a.aligned != 0);
  bool fits = true;
  for (int axis = 0; axis < 2; ++axis) {
    const double wanted = wanted_samples(reach.size[axis], a.cells[axis], a.ratio);
    fits = fits && (reach.size[axis] > 0 || !a.aligned) && wanted <= kMostSamples;
    m.samples[axis] = fits && wanted > 0 ? static_cast<int64_t>(wanted) : 0;
    m.low[axis] = reach.low[axis];
    m.size[axis] = reach.size[axis];
  }
  fits = fits && static_cast<double>(m.samples[0] * m.samples[1]) * static_cast<double>(a.cells[0] * a.cells[1]) <=
                     kMostSamples;
  if (!fits) m.image = -1;
  return fits;
}

template <class Compute, class T>
inline void measure_regions(const MeasureArguments& a) {
  const auto number = [&](int64_t r, int k) {
    return numeric_cast<Compute>(static_cast<const T*>(a.regions)[5 * r + k]);
  };
  const int64_t first = first_wrong(a.count, [&](int64_t r) {
    Compute region[5];
    for (int k = 0; k < 5; ++k) region[k] = number(r, k);
    return !measure(a, region, static_cast<Measured<Compute>*>(a.measured)[r]);
  });
  if (threadIdx.x != 0) return;
  WrongRegion& found = a.found[blockIdx.x];
  found.place = first < a.count ? first : -1;
  for (int k = 0; k < 5; ++k) found.numbers[k] = first < a.count ? static_cast<double>(number(first, k)) : 0.0;
}

// Where sample k of a cell lies.
template <class Compute>
inline Compute place_of(const Measured<Compute>& m, int axis, int64_t cells, int64_t cell, int64_t k) {
  return sample_place(m.low[axis], m.size[axis], cells, m.samples[axis], cell, k);
}

template <class Compute, class T>
inline void align_rois(const AlignArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t cells = a.grid_height * a.grid_width, cell = i % cells, channel = i / cells % a.channels;
    const Measured<Compute>& m = static_cast<const Measured<Compute>*>(a.measured)[i / cells / a.channels];
    Compute sum = 0;
    if (m.image >= 0) {
      const int64_t planes = a.own_channels ? a.channels * cells : a.channels;
      const int64_t plane = m.image * planes + (a.own_channels ? channel * cells + cell : channel);
      const T* const image = static_cast<const T*>(a.from) + plane * a.height * a.width;
      for (int64_t y = 0; y < m.samples[0]; ++y)
        for (int64_t x = 0; x < m.samples[1]; ++x) {
          const Tap<Compute> tap = tap_at(place_of(m, 0, a.grid_height, cell / a.grid_width, y),
                                          place_of(m, 1, a.grid_width, cell % a.grid_width, x), a.height, a.width);
          for (int k = 0; k < 4; ++k) sum += tap.weights[k] * numeric_cast<Compute>(image[tap.places[k]]);
        }
      sum /= static_cast<Compute>(m.samples[0] * m.samples[1]);
    }
    static_cast<T*>(a.to)[i] = numeric_cast<T>(sum);
  }
}

// The samples of a region along an axis, counted through its cells, that may have a part of the element `at`:
// [begin, end), perhaps a few more.
template <class Compute>
inline Places samples_near(const Measured<Compute>& m, int axis, int64_t cells, int64_t at, int64_t extent) {
  const int64_t all = cells * m.samples[axis];
  const auto low = static_cast<double>(m.low[axis]), size = static_cast<double>(m.size[axis]);
  const double step = size / static_cast<double>(all);
  if (!(step > 0)) return {0, all};
  const double begin = at == 0 ? -1.0 : static_cast<double>(at - 1);
  const double end = at == extent - 1 ? static_cast<double>(extent) : static_cast<double>(at + 1);
  // Places are rounded, to Compute.
  const double spare = 2 + (std::fabs(low) + size + end) * (sizeof(Compute) == 4 ? 1e-6 : 1e-14) / step;
  const double from = std::floor((begin - low) / step - spare), until = std::ceil((end - low) / step + spare);
  const auto most = static_cast<double>(all);
  return {from > 0 ? (from < most ? static_cast<int64_t>(from) : all) : 0,
          until > 0 ? (until < most ? static_cast<int64_t>(until) : all) : 0};
}

// Whether a region's samples may have a part of an element at a place along an axis; soon told.
template <class Compute>
inline bool may_reach(const Measured<Compute>& m, int axis, int64_t at) {
  const auto place = static_cast<Compute>(at);
  return !(m.size[axis] > 0) || (place >= m.low[axis] - 2 && place <= m.low[axis] + m.size[axis] + 2);
}

// What the samples of one cell give to the element in some planes, in the order of the host.
template <class Compute, int kPlanes>
inline void add_cell(const AlignArguments& a, const Measured<Compute>& m, const Places (&near)[2], int64_t row,
                     int64_t column, int64_t element, const Compute (&heads)[kPlanes], Compute (&sums)[kPlanes]) {
  const auto cut = [](int64_t at, int64_t samples) { return at < 0 ? 0 : at > samples ? samples : at; };
  const int64_t high = m.samples[0], wide = m.samples[1];
  for (int64_t y = cut(near[0].begin - row * high, high); y < cut(near[0].end - row * high, high); ++y)
    for (int64_t x = cut(near[1].begin - column * wide, wide); x < cut(near[1].end - column * wide, wide); ++x) {
      const Tap<Compute> tap = tap_at(place_of(m, 0, a.grid_height, row, y), place_of(m, 1, a.grid_width, column, x),
                                      a.height, a.width);
      for (int k = 0; k < 4; ++k) {
        if (tap.places[k] != element) continue;
#pragma unroll
        for (int p = 0; p < kPlanes; ++p) sums[p] += heads[p] * tap.weights[k] / static_cast<Compute>(high * wide);
      }
    }
}

// Each element adds up what samples have of it, region after region, so that sums do not depend on the run. A thread
// looks where the samples are for kPlanes planes at once, 1 where each cell has channels of its own.
template <class Compute, class T, int kPlanes>
inline void spread_rois(const AlignArguments& a) {
  const int64_t cells = a.grid_height * a.grid_width, planes = a.own_channels ? a.channels * cells : a.channels;
  const int64_t area = a.height * a.width, groups = (planes + kPlanes - 1) / kPlanes;
  for (int64_t i = first_of_thread(); i < a.count / planes * groups; i += all_threads()) {
    const int64_t element = i % area, plane = i / area % groups * kPlanes, image = i / area / groups;
    const int64_t y = element / a.width, x = element % a.width, channel = a.own_channels ? plane / cells : plane;
    Compute sums[kPlanes] = {};
    for (int64_t r = 0; r < a.regions; ++r) {
      const Measured<Compute>& m = static_cast<const Measured<Compute>*>(a.measured)[r];
      if (m.image != image || !may_reach(m, 0, y) || !may_reach(m, 1, x) || m.samples[0] * m.samples[1] == 0) continue;
      const Places near[2] = {samples_near(m, 0, a.grid_height, y, a.height),
                              samples_near(m, 1, a.grid_width, x, a.width)};
      if (near[0].begin >= near[0].end || near[1].begin >= near[1].end) continue;
      for (int64_t row = near[0].begin / m.samples[0]; row <= (near[0].end - 1) / m.samples[0]; ++row)
        for (int64_t column = near[1].begin / m.samples[1]; column <= (near[1].end - 1) / m.samples[1]; ++column) {
          const int64_t cell = row * a.grid_width + column;
          if (a.own_channels && cell != plane % cells) continue;
          const T* const first = static_cast<const T*>(a.from) + (r * a.channels + channel) * cells + cell;
          Compute heads[kPlanes];
#pragma unroll
          for (int p = 0; p < kPlanes; ++p)
            heads[p] = plane + p < planes ? numeric_cast<Compute>(first[p * cells]) : Compute{0};
          add_cell(a, m, near, row, column, element, heads, sums);
        }
    }
    for (int p = 0; p < kPlanes; ++p)
      if (plane + p < planes) static_cast<T*>(a.to)[(image * planes + plane + p) * area + element] = numeric_cast<T>(sums[p]);
  }
}

}  // namespace headrace::device
#endif
