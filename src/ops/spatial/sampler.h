// Images seen at the places of grids.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// inputs: images and grids; output: samples, as BilinearSampler's documentation has it
extern const KernelPartOf<void(KernelContext& context)> sample_images;
// inputs: the gradient of the samples, images and grids; outputs: the gradients of images and grids
extern const KernelPartOf<void(KernelContext& context)> spread_samples;

}  // namespace headrace
