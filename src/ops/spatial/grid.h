// Grids of places where images are sampled.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// input: matrices (batch, 6), or with !is_affine how far places move (batch, 2, height, width); output: grids
// (batch, 2, height, width). is_back: input: the gradient of grids; output: that of what they were made of.
extern const KernelPartOf<void(KernelContext& context, bool is_affine, bool is_back)> make_grids;

}  // namespace headrace
