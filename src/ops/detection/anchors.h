// Boxes around the places of a grid.
#pragma once

#include <array>
#include <vector>

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// In float32, as MXNet has it. The image reaches from 0 to 1.
struct AnchorGrid {
  int64_t rows, columns;
  float first_y, first_x;                        // where the first place is in its cell, the cell being 1
  float down, right;                             // distances of places
  bool clip;                                     // boxes end where the image does
  std::vector<std::array<float, 2>> half_sides;  // half the width and half the height of each box of a place
};

// The corners of all boxes, place by place.
extern const KernelPartOf<void(KernelContext& context, const AnchorGrid& grid, const Tensor& output)> fill_anchors;

}  // namespace headrace
