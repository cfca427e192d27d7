// Images that are turned round with some probability.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// input: images; output: the same, with probability p backwards along this axis
extern const KernelPartOf<void(KernelContext& context, size_t axis, double p)> flip_at_random;

// The draw of such an operation. MXNet's rule for one half: images are turned where a draw of two words is at least
// that.
bool is_flipped(const KernelContext& context, double p);
// Calls copy_elements and no other code on memory.
void copy_flipped(KernelContext& context, size_t axis, bool flipped);

}  // namespace headrace
