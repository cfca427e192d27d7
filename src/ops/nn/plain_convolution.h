// Convolution as plain loops over elements: every dtype, any strides, axes without elements. Any thread.
#pragma once

#include "ops/nn/convolution.h"

namespace headrace {

void plain_convolution(const ConvolutionProblem& problem);

}  // namespace headrace
