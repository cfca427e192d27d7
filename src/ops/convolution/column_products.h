// Convolutions of float64, for which oneDNN has no kernels: what the windows see as columns of a matrix, and products
// of matrices. Blocks of windows at a time, so that the columns stay in the caches. Any thread.
#pragma once

#include "op/kernel.h"
#include "ops/convolution/convolution.h"

namespace headrace {

// Whether this problem, which is not empty, is such a one, with matrices large enough to make up for the copies.
bool suits_column_products(const ConvolutionProblem& problem);

void column_products(KernelContext& context, const ConvolutionProblem& problem);

}  // namespace headrace
