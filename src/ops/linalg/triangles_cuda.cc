#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/stacks.h"
#include "ops/linalg/triangles.cuh"
#include "ops/linalg/triangles.h"

namespace headrace {
namespace {

constexpr const char* kTriangleHeader = "ops/linalg/triangles.cuh";

void launch_matrix_places(const char* function, const Tensor& from, const Tensor& to, const Stack& matrices,
                          int64_t length, const MatrixPlaces& places) {
  const device::MatrixPlaceArguments arguments{
      from.data, to.data, matrices.count, matrices.rows, length, places.is_diagonal, places.is_upper, places.offset};
  launch_cuda({kTriangleHeader, fmt::format("{}<{}>", function, bits_name(to.dtype)), "MatrixPlaceArguments"},
              grid_of(matrices.count * matrices.size()), arguments);
}

void extract_places_cuda(KernelContext& c, const MatrixPlaces& places) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  launch_matrix_places("extract_places", from, to, stack_of(from.shape), to.shape.back(), places);
}

void make_places_cuda(KernelContext& c, const MatrixPlaces& places) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  launch_matrix_places("make_places", from, to, stack_of(to.shape), from.shape.back(), places);
}

void sum_logs_cuda(KernelContext& c) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const Stack s = stack_of(from.shape);
  const device::DiagonalLogArguments arguments{from.data, to.data, s.count, s.rows};
  launch_cuda(
      {kTriangleHeader, fmt::format("sum_logs_of_diagonals<{}>", element_name(to.dtype)), "DiagonalLogArguments"},
      {blocks_for(s.count), device::kDiagonalThreads}, arguments);
}

// A product with zeros on the other side of the diagonal.
void multiply_triangular_cuda(KernelContext& c, const TriangularProduct& p) {
  const Tensor &factor = c.input(0), &other = c.input(1), &to = c.output(0);
  if (to.size == 0) return;
  const Tensor triangle{c.workspace(static_cast<size_t>(factor.size) * item_size(factor.dtype)), factor.dtype,
                        factor.shape, factor.strides, factor.size};
  copy_triangle(c, factor, triangle, 0, p.lower);
  const size_t last = to.shape.size() - 1;
  Gemm product{.dtype = to.dtype, .m = to.shape[last - 1], .n = to.shape[last], .c = to.data};
  product.k = factor.shape.back();
  product.batch = batch_shape(to.shape);
  const MatrixStack triangles = matrix_stack(triangle, p.transpose, product.batch);
  const MatrixStack others = matrix_stack(other, false, product.batch);
  product.a = p.rightside ? others : triangles;
  product.b = p.rightside ? triangles : others;
  gemm(c, product);
  if (p.alpha == 1) return;
  launch_cuda({kTriangleHeader, fmt::format("scale<{}>", element_name(to.dtype)), "ScaleArguments"}, grid_of(to.size),
              device::ScaleArguments{to.data, to.size, p.alpha});
}

}  // namespace

void add_triangles_cuda(KernelTable& table) {
  table.set_part(extract_places, extract_places_cuda);
  table.set_part(make_places, make_places_cuda);
  table.set_part(sum_logs_of_diagonals, sum_logs_cuda);
  table.set_part(multiply_triangular, multiply_triangular_cuda);
  table.set_own_kernels({"_linalg_extractdiag", "_linalg_extracttrian", "_linalg_makediag", "_linalg_maketrian",
                         "_linalg_sumlogdiag", "_linalg_trmm"});
}

}  // namespace headrace
