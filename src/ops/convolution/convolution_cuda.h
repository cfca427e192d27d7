// Convolutions on GPUs as products of matrices, the way for all that cuDNN does not compute.
#pragma once

#include "ops/convolution/convolution.h"

namespace headrace {

void convolve_by_products(KernelContext& context, const ConvolutionProblem& problem);

// Into the problem's bias: the sums of out, one for each channel.
void sum_of_channels(KernelContext& context, const ConvolutionProblem& problem);

}  // namespace headrace
