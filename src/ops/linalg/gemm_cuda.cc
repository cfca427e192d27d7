#include <algorithm>
#include <optional>

#include "backend/cuda/blas.h"
#include "backend/cuda/cuda_stream.h"
#include "op/copy_part.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/linalg/gemm.cuh"
#include "ops/linalg/gemm.h"

namespace headrace {
namespace {

// A stack whose matrices lie evenly.
struct EvenStack {
  const void* data;
  int64_t row_stride, column_stride, batch_stride;
};

// The stride of all matrices of a batch; none: they do not follow one.
std::optional<int64_t> even_stride(const Shape& batch, const Strides& strides) {
  std::optional<int64_t> found;
  int64_t count = 1;
  for (size_t d = batch.size(); d-- > 0; count *= batch[d]) {
    if (batch[d] == 1) continue;
    if (!found) found = strides[d];
    if (strides[d] != *found * count) return {};
  }
  return found.value_or(0);
}

EvenStack packed(KernelContext& context, LaunchScratch& scratch, const Gemm& g, const MatrixStack& stack, int64_t rows,
                 int64_t columns) {
  Shape shape = g.batch;
  shape.push_back(rows);
  shape.push_back(columns);
  Strides strides = stack.batch_strides;
  strides.push_back(stack.row_stride);
  strides.push_back(stack.column_stride);
  void* const copy = scratch.take(static_cast<size_t>(element_count(shape)) * item_size(g.dtype));
  copy_elements(context, copy, contiguous_strides(shape), stack.data, strides, shape, g.dtype);
  return {copy, columns, 1, rows * columns};
}

EvenStack even(KernelContext& context, LaunchScratch& scratch, const Gemm& g, const MatrixStack& stack, int64_t rows,
               int64_t columns) {
  if (const std::optional<int64_t> stride = even_stride(g.batch, stack.batch_strides); stride && *stride >= 0)
    return {stack.data, stack.row_stride, stack.column_stride, *stride};
  return packed(context, scratch, g, stack, rows, columns);
}

// The transpose of a matrix as the library sees memory, column after column; none: neither its rows nor its columns lie
// together.
std::optional<BlasMatrix> transposed(const EvenStack& stack, int64_t rows, int64_t columns) {
  const int64_t row = stack.row_stride, column = stack.column_stride;
  if ((column == 1 || columns == 1) && (row >= columns || rows == 1))
    return BlasMatrix{stack.data, columns, rows, rows == 1 ? columns : row, false, stack.batch_stride};
  if ((row == 1 || rows == 1) && (column >= rows || columns == 1))
    return BlasMatrix{stack.data, rows, columns, columns == 1 ? rows : column, true, stack.batch_stride};
  return {};
}

void plain(const Gemm& g, int64_t batch, const EvenStack& a, const EvenStack& b) {
  const device::GemmArguments arguments{
      a.data, b.data,         g.c,          g.bias,          batch,          g.m,          g.n,
      g.k,    a.batch_stride, a.row_stride, a.column_stride, b.batch_stride, b.row_stride, b.column_stride};
  launch_cuda({"ops/linalg/gemm.cuh", "gemm<" + element_name(g.dtype) + ">", "GemmArguments"},
              grid_of(batch * g.m * g.n), arguments);
}

// c' = b' a', whose columns are the rows of c.
bool by_library(KernelContext& context, LaunchScratch& scratch, const Gemm& g, int64_t batch, EvenStack a,
                EvenStack b) {
  std::optional<BlasMatrix> left = transposed(b, g.k, g.n), right = transposed(a, g.m, g.k);
  if (!left) left = transposed(packed(context, scratch, g, g.b, g.k, g.n), g.k, g.n);
  if (!right) right = transposed(packed(context, scratch, g, g.a, g.m, g.k), g.m, g.k);
  BlasProduct product{g.dtype, g.n, g.m, g.k, batch, *left, *right, g.c, g.bias, false};
  if (batch > 1 && product.a.batch_stride == 0 && !product.b.is_transposed &&
      product.b.batch_stride == g.m * product.b.leading) {  // all rows are factors of one matrix
    product.n *= batch;
    product.b.columns *= batch;
    product.batch = 1;
  }
  if (g.bias && (g.dtype == DType::kFloat64 || product.batch > 1)) {
    const Shape shape{batch * g.m, g.n};
    copy_elements(context, g.c, contiguous_strides(shape), g.bias, Strides{0, 1}, shape, g.dtype);
    product.bias = nullptr;
    product.adds = true;
  }
  return put_product(current_cuda_stream(), product, [&](size_t bytes) { return scratch.take(bytes); });
}

void gemm_cuda(KernelContext& context, const Gemm& g) {
  const int64_t batch = element_count(g.batch);
  if (batch == 0 || g.m == 0 || g.n == 0) return;
  LaunchScratch scratch;
  const EvenStack a = even(context, scratch, g, g.a, g.m, g.k), b = even(context, scratch, g, g.b, g.k, g.n);
  if (is_floating(g.dtype) && g.k > 0 && by_library(context, scratch, g, batch, a, b)) return;
  plain(g, batch, a, b);
}

}  // namespace

void add_gemm_cuda(KernelTable& table) {
  table.set_part(gemm, gemm_cuda);
  table.set_own_kernels({"dot", "_np_dot", "FullyConnected", "batch_dot", "_npi_matmul", "_batched_product"});
}

}  // namespace headrace
