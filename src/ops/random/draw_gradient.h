// How samples move with the parameters that they were drawn with, the random numbers under them held.
#pragma once

#include "op/gradient.h"
#include "ops/random/distributions.h"

namespace headrace {

// The gradients of a draw of one sample for each set of parameters: inputs are the parameters, the output the samples.
// Sets none for distributions whose samples MXNet does not differentiate.
void gradient_of_draw(Gradient& g, Distribution kind);

}  // namespace headrace
