// Arrays seen as matrices, for operators that contract axes.
#pragma once

#include "op/gradient.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/linalg/gemm.h"

namespace headrace {

// These two copy with copy_elements.
//
// The first `row_axes` axes of `tensor` as rows, the others as columns; packs a copy where strides do not allow it.
MatrixStack as_matrix(KernelContext& context, const Tensor& tensor, size_t row_axes);

// The elements of `tensor` in row-major order; itself when it is packed.
const void* packed_data(KernelContext& context, const Tensor& tensor);

MatrixStack transposed(const MatrixStack& matrix);

// Raises unless both inputs hold numbers of one dtype.
void require_same_dtype(const Infer& i);

// The elements in another shape: a view where strides allow it.
NDArray reshaped_to(const NDArray& array, Shape shape);
// The arrays as a two-dimensional view (or copy): (rows, columns), -1 inferred from the size.
NDArray matrix_of(const NDArray& array, int64_t rows, int64_t columns);
NDArray product(const NDArray& a, const NDArray& b, bool transpose_a = false, bool transpose_b = false);
// Sets a gradient to product(a, b) under the shape of input i.
void set_product(Gradient& g, size_t i, const NDArray& a, const NDArray& b, bool transpose_a, bool transpose_b);

}  // namespace headrace
