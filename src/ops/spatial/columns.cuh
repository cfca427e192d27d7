// The windows of a convolution as columns of a matrix, and columns added up into images.
#pragma once

#include "ops/convolution/window.cuh"

namespace headrace::device {

struct SpatialColumnArguments {
  const void* from;
  void* to;
  int64_t planes;
  WindowGeometry window;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

template <class T>
inline void gather_columns(const SpatialColumnArguments& a) {
  const int64_t windows = count_of(a.window.out), taps = count_of(a.window.kernel), area = count_of(a.window.data);
  for (int64_t i = first_of_thread(); i < a.planes * taps * windows; i += all_threads()) {
    const Place y = place_of(i % windows, a.window.out), tap = place_of(i / windows % taps, a.window.kernel);
    int64_t at = 0;
    bool is_inside = true;
    for (int d = 0; d < 3; ++d) {
      const int64_t x = y.at[d] * a.window.step[d] - a.window.pad[d] + tap.at[d] * a.window.dilate[d];
      is_inside = is_inside && x >= 0 && x < a.window.data[d];
      at = at * a.window.data[d] + x;
    }
    static_cast<T*>(a.to)[i] = is_inside ? static_cast<const T*>(a.from)[i / windows / taps * area + at] : T{0};
  }
}

// Each element adds up what windows have at it, in the order of the taps.
template <class Compute, class T>
inline void add_columns(const SpatialColumnArguments& a) {
  const int64_t windows = count_of(a.window.out), taps = count_of(a.window.kernel), area = count_of(a.window.data);
  for (int64_t i = first_of_thread(); i < a.planes * area; i += all_threads()) {
    const Place x = place_of(i % area, a.window.data);
    Compute sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const Place tap = place_of(t, a.window.kernel);
      int64_t window = 0;
      bool meets = true;
      for (int d = 0; d < 3; ++d) {
        const int64_t from = x.at[d] + a.window.pad[d] - tap.at[d] * a.window.dilate[d], y = from / a.window.step[d];
        meets = meets && from >= 0 && from % a.window.step[d] == 0 && y < a.window.out[d];
        window = window * a.window.out[d] + y;
      }
      if (meets) sum += numeric_cast<Compute>(static_cast<const T*>(a.from)[(i / area * taps + t) * windows + window]);
    }
    static_cast<T*>(a.to)[i] = numeric_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
