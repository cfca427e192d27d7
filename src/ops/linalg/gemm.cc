#include "ops/linalg/gemm.h"

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "ndarray/strided_copy.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/linalg/dense_gemm.h"
#include "ops/linalg/onednn_matmul.h"
#include "ops/linalg/plain_gemm.h"

namespace headrace {
namespace {

// Below this many multiplications the call of a library costs more than the work.
constexpr double kTiny = 1000;
// Products divide evenly and read what they share from caches: less work than elsewhere justifies a thread.
constexpr double kProductCostPerThreadNs = 10'000;

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

Shape stack_shape(const Gemm& g, const MatrixStack& stack, int64_t rows, int64_t columns) {
  Shape shape;
  for (size_t i = 0; i < g.batch.size(); ++i) shape.push_back(stack.batch_strides[i] == 0 ? 1 : g.batch[i]);
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

Strides stack_strides(const MatrixStack& stack) {
  Strides strides = stack.batch_strides;
  strides.push_back(stack.row_stride);
  strides.push_back(stack.column_stride);
  return strides;
}

MatrixStack stack_of(const void* data, const Shape& shape, const MatrixStack& like) {
  Strides packed = contiguous_strides(shape);
  MatrixStack stack{data, packed[packed.size() - 2], packed.back(), {}};
  for (size_t i = 0; i < like.batch_strides.size(); ++i)
    stack.batch_strides.push_back(like.batch_strides[i] == 0 ? 0 : packed[i]);
  return stack;
}

// A matrix that runs along neither rows nor columns is packed first.
MatrixStack with_unit_stride(KernelContext& context, const Gemm& g, const MatrixStack& stack, int64_t rows,
                             int64_t columns) {
  bool usable = (stack.column_stride == 1 || columns == 1) && (stack.row_stride >= columns || rows == 1);
  usable |= (stack.row_stride == 1 || rows == 1) && (stack.column_stride >= rows || columns == 1);
  for (int64_t stride : stack.batch_strides) usable &= stride >= 0;
  if (usable) return stack;
  Shape shape = stack_shape(g, stack, rows, columns);
  void* packed = context.workspace(static_cast<size_t>(element_count(shape)) * item_size(g.dtype));
  strided_copy(packed, contiguous_strides(shape), stack.data, stack_strides(stack), shape, g.dtype);
  return stack_of(packed, shape, stack);
}

template <class From, class To>
void convert(const From* from, To* to, int64_t count) {
  parallel_for(count, 4096, static_cast<double>(count), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(static_cast<float>(from[i]));
  });
}

// Half types where the library has no kernel for them: through float32.
template <class Half>
void gemm_through_float(KernelContext& context, const Gemm& g) {
  auto widened = [&](const MatrixStack& stack, int64_t rows, int64_t columns) {
    Shape shape = stack_shape(g, stack, rows, columns);
    int64_t count = element_count(shape);
    Half* packed = context.workspace<Half>(count);
    strided_copy(packed, contiguous_strides(shape), stack.data, stack_strides(stack), shape, g.dtype);
    float* wide = context.workspace<float>(count);
    convert(packed, wide, count);
    return stack_of(wide, shape, stack);
  };
  Gemm wide = g;
  wide.dtype = DType::kFloat32;
  wide.a = widened(g.a, g.m, g.k);
  wide.b = widened(g.b, g.k, g.n);
  int64_t count = element_count(g.batch) * g.m * g.n;
  wide.c = context.workspace<float>(count);
  if (g.bias) {
    float* bias = context.workspace<float>(g.n);
    convert(static_cast<const Half*>(g.bias), bias, g.n);
    wide.bias = bias;
  }
  gemm(context, wide);
  convert(static_cast<const float*>(wide.c), static_cast<Half*>(g.c), count);
}

bool library_gemm(KernelContext& context, Gemm g) {
  g.a = with_unit_stride(context, g, g.a, g.m, g.k);
  g.b = with_unit_stride(context, g, g.b, g.k, g.n);
  const int width = width_for(gemm_cost(g.dtype, element_count(g.batch), g.m, g.n, g.k), kProductCostPerThreadNs);
  bool done = false;
  run_in_arena_of(width, [&] { done = onednn_matmul(context, g, width); });
  return done;
}

void gemm_on_host(KernelContext& context, const Gemm& g) {
  int64_t batch = element_count(g.batch);
  if (batch == 0 || g.m == 0 || g.n == 0) return;
  double products =
      static_cast<double>(batch) * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  bool is_real = g.dtype == DType::kFloat32 || g.dtype == DType::kFloat64;
  if (products <= kTiny || !(is_real || is_half(g.dtype))) return plain_gemm(g);
  if (is_real && (g.m == 1 || g.n == 1) && matrix_vector(context, g)) return;
  if (g.dtype == DType::kFloat64) return double_gemm(context, g);
  if (library_gemm(context, g)) return;
  if (g.dtype == DType::kFloat16)
    gemm_through_float<Float16>(context, g);
  else if (g.dtype == DType::kBfloat16)
    gemm_through_float<Bfloat16>(context, g);
  else
    plain_gemm(g);
}

}  // namespace

double gemm_cost(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k) {
  double per_product = dtype == DType::kFloat64 ? 0.04 : dtype == DType::kFloat32 ? 0.02 : is_half(dtype) ? 0.01 : 0.5;
  return 200 + static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                   per_product;
}

void set_gemm_cost(Infer& infer, int64_t batch, int64_t m, int64_t n, int64_t k) {
  infer.cost(gemm_cost(infer.dtype(0), batch, m, n, k));
  infer.flops(2 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
              static_cast<double>(k));
}

const decltype(gemm) gemm{"gemm", gemm_on_host};

MatrixStack matrix_stack(const Tensor& tensor, bool transpose, const Shape& batch) {
  size_t ndim = tensor.shape.size(), lead = batch.size() - (ndim - 2);
  MatrixStack stack{tensor.data, tensor.strides[ndim - 2], tensor.strides[ndim - 1], Strides(batch.size(), 0)};
  if (transpose) std::swap(stack.row_stride, stack.column_stride);
  for (size_t i = 0; i + 2 < ndim; ++i) stack.batch_strides[lead + i] = tensor.shape[i] == 1 ? 0 : tensor.strides[i];
  return stack;
}

}  // namespace headrace
