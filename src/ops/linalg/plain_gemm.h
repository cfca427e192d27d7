// Matrix products without a library: tiny ones and integers.
#pragma once

#include "ops/linalg/gemm.h"

namespace headrace {

// c = a b (+ bias) for every dtype, accumulating half types in float32 and all others in themselves.
void plain_gemm(const Gemm& g);

}  // namespace headrace
