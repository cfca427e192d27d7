// The largest elements of the cells of grids over regions of images.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// inputs: images (batch, channels, rows, columns) and regions (count, 5), coordinates being multiplied by `scale`;
// outputs: the maxima (regions, channels, rows and columns of the grid) and their places in the images, -1 where there
// are none
extern const KernelPartOf<void(KernelContext& context, double scale)> pool_regions;
// inputs: an array and places; output: zeros to which the elements are added at the places that there are, in order
extern const KernelPartOf<void(KernelContext& context)> add_to_recorded;

}  // namespace headrace
