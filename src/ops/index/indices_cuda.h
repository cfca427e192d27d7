// What kernels for GPUs that index have in common.
#pragma once

#include "ops/index/indices.h"

namespace headrace {

// The work that is being launched fails with IndexError when its stream has come to it and an index is out of range.
// What is behind it runs all the same, and has to keep to its arrays.
void raise_outside(KernelContext& context, const Positions& positions, int64_t extent);

}  // namespace headrace
