// Convolutions on GPUs as products of matrices, the way for all that cuDNN does not compute.
#pragma once

#include "ops/convolution/convolution.h"

namespace headrace {

void convolve_by_products(KernelContext& context, const ConvolutionProblem& problem);

// To an image without gaps at `data`, which lies channels-last or as the shape says: adds the bias (null: none), then
// does what comes after the convolution.
void finish_convolution(KernelContext& context, const Image& image, void* data, bool channels_last, const void* bias,
                        const ConvolutionProblem::After& after);

// Into the problem's bias: the sums of out, one for each channel.
void sum_of_channels(KernelContext& context, const ConvolutionProblem& problem);

}  // namespace headrace
