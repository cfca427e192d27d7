// Products that the library does not do well: a matrix times a vector, and float64. Runs on the thread of a task.
#pragma once

#include "op/kernel.h"
#include "ops/linalg/gemm.h"

namespace headrace {

// For float32 and float64 with m or n equal to 1. False when the matrix runs along neither rows nor columns.
bool matrix_vector(KernelContext& context, const Gemm& g);

// float64, blocked for the caches.
void double_gemm(KernelContext& context, const Gemm& g);

// Where matrix `index` of a stack begins, in elements.
int64_t batch_offset(const Shape& batch, const Strides& strides, int64_t index);

}  // namespace headrace
