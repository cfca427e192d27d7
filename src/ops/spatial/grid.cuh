// Grids of places where images are sampled.
#pragma once

#include <cstdint>

namespace headrace::device {

struct GridArguments {
  const void* from;
  void* to;
  int64_t planes, height, width, has_place;
};

constexpr unsigned kGridThreads = 256;  // of the block that adds up a plane, as in op/device/group.cuh

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/device/group.cuh"
#include "ops/spatial/grid_places.h"

namespace headrace::device {

template <class Compute, class T>
inline void affine_grids(const GridArguments& a) {
  for (int64_t i = first_of_thread(); i < a.planes * a.height * a.width; i += all_threads()) {
    Compute row[3];
    for (int k = 0; k < 3; ++k)
      row[k] = numeric_cast<Compute>(static_cast<const T*>(a.from)[i / a.width / a.height * 3 + k]);
    const Compute down = grid_coordinate(i / a.width % a.height, grid_step<Compute>(a.height));
    const Compute across = grid_coordinate(i % a.width, grid_step<Compute>(a.width));
    static_cast<T*>(a.to)[i] = numeric_cast<T>(row[0] * across + affine_shift(row, down));
  }
}

template <class Compute, class T>
inline void warped_grids(const GridArguments& a) {
  for (int64_t i = first_of_thread(); i < a.planes * a.height * a.width; i += all_threads()) {
    const bool is_column = i / a.width / a.height % 2 == 0;
    const int64_t place = is_column ? i % a.width : i / a.width % a.height;
    const auto half = half_extent<Compute>(is_column ? a.width : a.height);
    const auto x = numeric_cast<Compute>(static_cast<const T*>(a.from)[i]);
    static_cast<T*>(a.to)[i] = numeric_cast<T>(warped(x, place, half, a.has_place != 0));
  }
}

// A block to a plane, whose sums are in double.
template <class Compute, class T>
inline void affine_gradients(const GridArguments& a) {
  const auto down = grid_step<Compute>(a.height), across = grid_step<Compute>(a.width);
  const int64_t area = a.height * a.width;
  for (int64_t plane = blockIdx.x; plane < a.planes; plane += gridDim.x) {
    double sums[3] = {};
    for (int64_t i = threadIdx.x; i < area; i += kBlockThreads) {
      const auto head = numeric_cast<Compute>(static_cast<const T*>(a.from)[plane * area + i]);
      sums[0] += head * grid_coordinate(i % a.width, across);
      sums[1] += head * grid_coordinate(i / a.width, down);
      sums[2] += head;
    }
    for (int k = 0; k < 3; ++k) {
      const double sum = Group<kBlockThreads>::combined(sums[k], Plus());
      if (threadIdx.x == 0) static_cast<T*>(a.to)[plane * 3 + k] = numeric_cast<T>(static_cast<Compute>(sum));
    }
  }
}

}  // namespace headrace::device
#endif
