// Pooling as plain loops over elements: every dtype, kind and stride, windows that reach beyond the padding. Any
// thread.
#pragma once

#include "ops/pooling/pooling.h"

namespace headrace {

void plain_pooling(const PoolingProblem& problem);
void plain_pooling_back(const PoolingProblem& problem);
void plain_pooling_tangent(const PoolingProblem& problem);

}  // namespace headrace
