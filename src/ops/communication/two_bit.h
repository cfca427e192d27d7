// Gradients at two bits an element.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// inputs: a gradient and the residual, to which it is added; output: the packed form of the sums, which are taken off
// the residual
extern const KernelPartOf<void(KernelContext& context, float threshold)> pack_two_bits;
// The way back.
extern const KernelPartOf<void(KernelContext& context, float threshold)> unpack_two_bits;

}  // namespace headrace
