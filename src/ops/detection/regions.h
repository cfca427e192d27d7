// Regions of images: rows that begin with the number of the image. Pure functions; any thread.
#pragma once

#include <algorithm>
#include <cmath>

#include "op/expect.h"
#include "op/rule.h"
#include "ops/detection/region_places.h"

namespace headrace {

// Refuses anything but images (batch, channels, rows, columns), regions (count, width) of their dtype and a grid of two
// positive numbers. Of width 5 a region is [number, xmin, ymin, xmax, ymax].
inline void expect_regions(const Infer& i, const Shape& grid, int64_t width = 5) {
  expect_floats(i, 0);
  i.require(i.shape(0).size() == 4, ErrorKind::kRuntime,
            "data must have shape (batch, channels, rows, columns), got {}", to_string(i.shape(0)));
  i.require(i.shape(1).size() == 2 && i.shape(1)[1] == width, ErrorKind::kRuntime,
            "rois must have shape (regions, {}), got {}", width, to_string(i.shape(1)));
  i.require(i.dtype(0) == i.dtype(1), ErrorKind::kRuntime, "data and rois must hold one dtype, got {} and {}",
            dtype_name(i.dtype(0)), dtype_name(i.dtype(1)));
  i.require(grid.size() == 2 && grid[0] > 0 && grid[1] > 0, ErrorKind::kValue,
            "pooled_size must be two positive numbers, got {}", to_string(grid));
}

// Of images and of what is computed for each region: (regions, channels, rows and columns of the grid).
struct RegionShapes {
  int64_t images, channels, height, width, regions, grid_height, grid_width;

  RegionShapes(const Shape& data, const Shape& result)
      : images(data[0]),
        channels(result[1]),
        height(data[2]),
        width(data[3]),
        regions(result[0]),
        grid_height(result[2]),
        grid_width(result[3]) {}
  int64_t cells() const noexcept { return grid_height * grid_width; }
};

}  // namespace headrace
