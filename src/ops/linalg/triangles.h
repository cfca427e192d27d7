// Diagonals and triangles of square matrices as vectors.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// Of a square matrix: a diagonal, `offset` above the main one or, negative, below it; or a triangle so far away from
// it, lower ones row by row, upper ones column by column.
struct MatrixPlaces {
  bool is_diagonal, is_upper;
  int64_t offset;
};

// input: matrices of float32 or float64; output: the elements at these places
extern const KernelPartOf<void(KernelContext& context, const MatrixPlaces& places)> extract_places;
// input: vectors; output: matrices with them at these places, zeros elsewhere
extern const KernelPartOf<void(KernelContext& context, const MatrixPlaces& places)> make_places;
// input: matrices; output: for each the sum of the logarithms of its diagonal
extern const KernelPartOf<void(KernelContext& context)> sum_logs_of_diagonals;

// Elements on the other side of the diagonal are not read. input 0: triangular matrices, input 1: matrices; output:
// alpha op(A) B, or alpha B op(A) at the right
struct TriangularProduct {
  bool transpose, rightside, lower;
  double alpha;
};
extern const KernelPartOf<void(KernelContext& context, const TriangularProduct& product)> multiply_triangular;

}  // namespace headrace
