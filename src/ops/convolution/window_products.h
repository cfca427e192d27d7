// The gradient of a convolution's weight over images so small that many elements of the windows lie outside: one
// product of matrices for each element of the window, over just those windows where it lies inside. Any thread.
#pragma once

#include "op/kernel.h"
#include "ops/convolution/convolution.h"

namespace headrace {

// Whether this is such a problem, and done sooner so than by a kernel that goes over all windows.
bool suits_window_products(const ConvolutionProblem& problem);

void window_products(KernelContext& context, const ConvolutionProblem& problem);

}  // namespace headrace
