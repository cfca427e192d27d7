// Convolution by oneDNN. Any thread.
#pragma once

#include "op/kernel.h"
#include "ops/convolution/convolution.h"

namespace headrace {

// Whether oneDNN could do it: false when it has no kernel for this problem on this machine. No array is empty. The
// caller is in an arena of this width, and all of them are used.
bool onednn_convolution(KernelContext& context, const ConvolutionProblem& problem, int width);

}  // namespace headrace
