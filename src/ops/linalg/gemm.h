// Products of matrices and of stacks of matrices: c = a b (+ bias), the one kernel under dot, batch_dot, matmul,
// FullyConnected and their gradients. Runs on the thread of a task.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"
#include "op/rule.h"

namespace headrace {

// A stack of matrices with any strides, in elements. A batch stride of 0 repeats one matrix.
struct MatrixStack {
  const void* data = nullptr;
  int64_t row_stride = 0, column_stride = 0;
  Strides batch_strides = {};  // one per batch axis
  Storage* storage = nullptr;  // of weights: where copies in the library's layout may be kept
};

struct Gemm {
  DType dtype = DType::kFloat32;  // of a, b, bias and c
  int64_t m = 1, n = 1, k = 1;
  Shape batch = {};            // leading axes of c
  MatrixStack a = {};          // m x k
  MatrixStack b = {};          // k x n
  void* c = nullptr;           // packed: (batch..., m, n)
  const void* bias = nullptr;  // n packed values added to every row
};

// Estimated nanoseconds on one core.
double gemm_cost(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k);
// For rules: the operation is such a product of arrays of the first input's dtype.
void set_gemm_cost(Infer& infer, int64_t batch, int64_t m, int64_t n, int64_t k);

extern const KernelPartOf<void(KernelContext& context, const Gemm& g)> gemm;

// The last two axes of `tensor` as a matrix (transposed if asked), the axes before as the batch, broadcast to `batch`.
MatrixStack matrix_stack(const Tensor& tensor, bool transpose, const Shape& batch);

}  // namespace headrace
