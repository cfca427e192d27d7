// Pooling by oneDNN. Any thread.
#pragma once

#include "op/kernel.h"
#include "ops/pooling/pooling.h"

namespace headrace {

// Whether oneDNN could do it: false when it has no kernel for this problem. Maximum and average only; arrays are dense
// and not empty, every window holds an element of data. The caller is in an arena of this width.
bool onednn_pooling(KernelContext& context, const PoolingProblem& problem, int width);
bool onednn_pooling_back(KernelContext& context, const PoolingProblem& problem, int width);

}  // namespace headrace
