// Matrix products by oneDNN. Any thread.
#pragma once

#include "op/kernel.h"
#include "ops/linalg/gemm.h"

namespace headrace {

// Whether oneDNN could do it: false when it has no kernel for this dtype on this machine. Each matrix must have a row
// or column stride of 1. The caller is in an arena of this width, and all of them are used.
bool onednn_matmul(KernelContext& context, const Gemm& g, int width);

}  // namespace headrace
