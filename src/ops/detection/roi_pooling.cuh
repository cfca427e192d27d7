// The largest elements of the cells of grids over regions of images.
#pragma once

#include <cstdint>

namespace headrace::device {

struct RegionPoolArguments {
  const void* data;
  const void* regions;
  void* to;
  int64_t* record;
  int64_t count;  // of results
  int64_t images, channels, height, width, grid_height, grid_width;
  double scale;
};

// Places are in ascending order, those of one value in their own order.
struct RecordArguments {
  const void* from;
  const int64_t* places;
  const int64_t* order;
  void* to;
  int64_t count, size;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"
#include "ops/detection/region_places.h"

namespace headrace::device {

template <class Compute, class T>
inline void pool_regions(const RegionPoolArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t column = i % a.grid_width, row = i / a.grid_width % a.grid_height;
    const int64_t channel = i / a.grid_width / a.grid_height % a.channels;
    const T* const region = static_cast<const T*>(a.regions) + i / a.grid_width / a.grid_height / a.channels * 5;
    const auto at = [&](int k) { return numeric_cast<Compute>(region[k]); };
    const auto scale = static_cast<Compute>(a.scale);
    const int64_t image = image_of_region(at(0), a.images), plane = (image * a.channels + channel) * a.height * a.width;
    const Places rows = places_of<Compute>(span_of(at(2), at(4), scale), row, a.grid_height, a.height);
    const Places columns = places_of<Compute>(span_of(at(1), at(3), scale), column, a.grid_width, a.width);
    const bool is_empty = image < 0 || rows.end <= rows.begin || columns.end <= columns.begin;
    Compute most = is_empty ? 0 : -3.402823466e38f;
    int64_t place = -1;
    for (int64_t y = rows.begin; !is_empty && y < rows.end; ++y)
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const auto value = numeric_cast<Compute>(static_cast<const T*>(a.data)[plane + y * a.width + x]);
        if (!(value > most)) continue;
        most = value;
        place = plane + y * a.width + x;
      }
    static_cast<T*>(a.to)[i] = numeric_cast<T>(most);
    a.record[i] = place;
  }
}

// The first of equal places adds up all of them.
template <class Compute, class T>
inline void add_to_recorded(const RecordArguments& a) {
  for (int64_t s = first_of_thread(); s < a.count; s += all_threads()) {
    const int64_t place = a.places[s];
    if (place < 0 || place >= a.size || (s > 0 && a.places[s - 1] == place)) continue;
    Compute sum = 0;
    for (int64_t k = s; k < a.count && a.places[k] == place; ++k)
      sum += numeric_cast<Compute>(static_cast<const T*>(a.from)[a.order[k]]);
    static_cast<T*>(a.to)[place] = numeric_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
