// Operands of linear algebra: stacks of matrices of float32 or float64, a matrix being in the last two axes. What
// rules, kernels and gradients of the operators on LAPACK share.
#pragma once

#include <algorithm>

#include "backend/cpu/parallel.h"
#include "op/gradient.h"
#include "op/kernel.h"
#include "op/rule.h"

namespace headrace {

// How many matrices, and what each of them is.
struct Stack {
  int64_t count;
  int rows, columns;
  int64_t size() const noexcept { return int64_t{rows} * columns; }  // elements of one matrix
};

// Of a shape that expect_matrices() has let pass.
Stack stack_of(const Shape& shape);
// The axes before the matrices.
Shape batch_shape(const Shape& shape);

// Refuse, with MXNetError, anything but matrices of float32 or float64; anything but square ones.
void expect_matrices(const Infer& i, size_t k = 0);
void expect_square_matrices(const Infer& i, size_t k = 0);
// Refuses inputs of more than one dtype.
void expect_one_dtype(const Infer& i);

// The dtype in which NumPy's functions compute: float32 where all arrays hold that, otherwise float64. Raises
// MXNetError for half precision.
DType common_real(const char* name, std::span<const NDArray> arrays);

// What `flops` operations on each of `count` matrices cost, in nanoseconds.
double stack_cost(int64_t count, double flops);
// n cubed, times a factor: what most algorithms of linear algebra count.
inline double cubed(double factor, int n) { return factor * n * n * n; }

// Calls body.operator()<T>(begin, end) for ranges of matrices that cover [0, count), on several threads where that
// pays.
template <class F>
void for_matrices(const KernelContext& c, int64_t count, double flops, F&& body) {
  const bool is_single = c.input(0).dtype == DType::kFloat32;
  parallel_for(count, 1, stack_cost(count, flops), [&](int64_t begin, int64_t end) {
    if (is_single)
      body.template operator()<float>(begin, end);
    else
      body.template operator()<double>(begin, end);
  });
}

template <class T>
bool all_finite(const T* numbers, int64_t count) {
  // 0 x is 0 of finite numbers alone.
  T sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += numbers[i] * T{0};
  return sum == T{0};
}

// to (columns, rows) = the transpose of from (rows, columns), both row-major. Goes by squares that stay in the cache.
template <class T>
void transpose_into(T* to, const T* from, int rows, int columns) {
  constexpr int kSide = 16;
  for (int64_t top = 0; top < rows; top += kSide)
    for (int64_t left = 0; left < columns; left += kSide)
      for (int64_t c = left; c < std::min<int64_t>(columns, left + kSide); ++c)
        for (int64_t r = top; r < std::min<int64_t>(rows, top + kSide); ++r) to[c * rows + r] = from[r * columns + c];
}

// --- what gradients are written with ---------------------------------------------------------------------------------

// Elements on the diagonal and below it, or above; zeros elsewhere.
NDArray triangle_of(const NDArray& matrices, bool lower);
// Symmetric matrices with that triangle.
NDArray mirrored(const NDArray& matrices, bool lower);
NDArray transposed(const NDArray& matrices);
// Products of stacks with equal leading axes.
NDArray products(const NDArray& a, const NDArray& b, bool transpose_a = false, bool transpose_b = false);
NDArray scaled(const NDArray& array, double factor);
// The gradient that reached a result; zeros where none did.
NDArray head_or_zeros(const Gradient& g, size_t output);

// The symmetric matrices with x - x' in that triangle.
NDArray mirrored_difference(const NDArray& x, bool lower);
// |v_i - v_j| for all pairs in the last axis of `values`, equal ones being taken for a tiny distance apart.
NDArray gaps_between(const NDArray& values);

// OpDef::result_dtype of what computes integers in float64.
inline DType real_result(std::span<const DType> inputs, const Attrs&, size_t) {
  return is_floating(inputs[0]) ? inputs[0] : DType::kFloat64;
}

}  // namespace headrace
