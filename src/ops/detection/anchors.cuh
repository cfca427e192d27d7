// Boxes around the places of a grid.
#pragma once

#include <cstdint>

namespace headrace::device {

// As in ops/detection/anchors.h.
struct AnchorArguments {
  const float* half_sides;
  void* to;
  int64_t count;  // of numbers
  int64_t columns, boxes, clip;
  float first_y, first_x, down, right;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

template <class T>
inline void fill_anchors(const AnchorArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t corner = i % 4, box = i / 4 % a.boxes, place = i / 4 / a.boxes;
    const bool is_vertical = corner % 2 == 1;
    const auto cell = static_cast<float>(is_vertical ? place / a.columns : place % a.columns);
    const float center = (cell + (is_vertical ? a.first_y : a.first_x)) * (is_vertical ? a.down : a.right);
    const float side = a.half_sides[2 * box + corner % 2];
    float number = corner < 2 ? center - side : center + side;
    if (a.clip) number = number < 0 ? 0 : number > 1 ? 1 : number;
    static_cast<T*>(a.to)[i] = numeric_cast<T>(number);
  }
}

}  // namespace headrace::device
#endif
