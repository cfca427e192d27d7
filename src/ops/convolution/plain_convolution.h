// Convolution as plain loops over elements: every floating dtype, any strides, axes without elements; it leaves out
// what comes after (sum, relu). Any thread.
#pragma once

#include "ops/convolution/convolution.h"

namespace headrace {

void plain_convolution(const ConvolutionProblem& problem);

}  // namespace headrace
