// What matrices are decomposed into, and what follows from that, as parts of kernels: LAPACK does it on the host,
// cuSOLVER on NVIDIA's GPUs. Inputs and outputs are stacks of matrices of float32 or float64 (ops/linalg/stacks.h).
//
// What a matrix lacks (no inverse, not positive definite, no convergence) fails the operator with Error(kRuntime),
// which names the first such matrix that was found.
#pragma once

#include <cstdint>
#include <string_view>

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/linalg/triangles.h"

namespace headrace {

// input: symmetric matrices, of which one triangle is read; output: their factors in that triangle, zeros in the other
extern const KernelPartOf<void(KernelContext& context, bool lower)> factorize_cholesky;
// input: such factors; output: the inverses of their products
extern const KernelPartOf<void(KernelContext& context, bool lower)> invert_product;
// inputs and output as of multiply_triangular; output: the X of op(A) X = alpha B, or X op(A) = alpha B
extern const KernelPartOf<void(KernelContext& context, const TriangularProduct& system)> solve_triangular;

// input: square matrices; output: their inverses, and zeros for singular ones where those do not fail
extern const KernelPartOf<void(KernelContext& context, bool zeros_of_singular)> invert;
// input: square matrices; output: their determinants, or, where there are two, signs and logarithms
extern const KernelPartOf<void(KernelContext& context)> find_determinants;
// inputs: matrices A and right-hand sides B; output: the X of A X = B
extern const KernelPartOf<void(KernelContext& context)> solve_systems;

// input: matrices with no more rows than columns; outputs: Q, and the lower triangle L, of A = L Q
extern const KernelPartOf<void(KernelContext& context)> factorize_lq;
// input: symmetric matrices, of which the lower triangle is read; outputs: eigenvectors, as rows whose element farthest
// from 0 is positive, and eigenvalues, in ascending order; NaN for matrices that are not finite
extern const KernelPartOf<void(KernelContext& context)> decompose_symmetric;
// input: matrices with no more rows than columns; outputs: U, L in descending order, and V, of A = U diag(L) V, with
// the signs of eigenvectors in the rows of V; NaN likewise
extern const KernelPartOf<void(KernelContext& context)> decompose_singular;

// Raise Error(kRuntime) for what a routine said of a matrix: potrf, potri, getrf of what is to be inverted or solved,
// syevd or geev, gesvd or gesdd.
void check_positive_definite(std::string_view op, int64_t matrix, int info);
void check_diagonal(std::string_view op, int64_t matrix, int info);
void check_invertible(std::string_view op, int64_t matrix, int info);
void check_solvable(std::string_view op, int64_t matrix, int info);
void check_eigenvalues(std::string_view op, int64_t matrix, int info);
void check_singular_values(std::string_view op, int64_t matrix, int info);

}  // namespace headrace
