// The windows of a convolution as columns of a matrix, and columns added up into images.
#pragma once

#include <array>

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

struct ColumnAxis {
  int64_t extent = 1, windows = 1, kernel = 1, stride = 1, dilate = 1, pad = 0;
};

// Images and windows along depth, height and width; of fewer axes the first are of one element.
struct ColumnGrid {
  std::array<ColumnAxis, 3> axes;

  int64_t product(int64_t ColumnAxis::*extent) const {
    return element_count(Shape{axes[0].*extent, axes[1].*extent, axes[2].*extent});
  }
  int64_t elements() const { return product(&ColumnAxis::kernel); }
  int64_t windows() const { return product(&ColumnAxis::windows); }
  int64_t area() const { return product(&ColumnAxis::extent); }
};

// input: images (batch, channels, *spatial); output: (batch, channels times elements of the kernel, windows)
extern const KernelPartOf<void(KernelContext& context, const ColumnGrid& grid)> gather_columns;
// The transpose of that.
extern const KernelPartOf<void(KernelContext& context, const ColumnGrid& grid)> add_columns;

}  // namespace headrace
