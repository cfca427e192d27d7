#include "ops/linalg/stacks.h"

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"

namespace headrace {

Stack stack_of(const Shape& shape) {
  const Shape batch = batch_shape(shape);
  return {element_count(batch), static_cast<int>(shape[shape.size() - 2]), static_cast<int>(shape.back())};
}

Shape batch_shape(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

void expect_matrices(const Infer& i, size_t k) {
  const Shape& shape = i.shape(k);
  i.require(i.dtype(k) == DType::kFloat32 || i.dtype(k) == DType::kFloat64, ErrorKind::kRuntime,
            "float32 or float64 is needed, got {}; convert the array with astype", dtype_name(i.dtype(k)));
  i.require(shape.size() >= 2, ErrorKind::kRuntime, "matrices are needed, in at least two dimensions, got shape {}",
            to_string(shape));
  for (size_t d = shape.size() - 2; d < shape.size(); ++d)
    i.require(shape[d] <= static_cast<int64_t>(kMostInt), ErrorKind::kRuntime,
              "matrices may have 2147483647 rows and columns, got shape {}", to_string(shape));
}

void expect_square_matrices(const Infer& i, size_t k) {
  expect_matrices(i, k);
  const Shape& shape = i.shape(k);
  i.require(shape.back() == shape[shape.size() - 2], ErrorKind::kRuntime,
            "square matrices are needed, got shape {}: its last two extents must be equal", to_string(shape));
}

void expect_one_dtype(const Infer& i) {
  for (size_t k = 1; k < i.input_count(); ++k)
    i.require(i.dtype(k) == i.dtype(0), ErrorKind::kRuntime, "the inputs hold {} and {}; convert one with astype",
              dtype_name(i.dtype(0)), dtype_name(i.dtype(k)));
}

DType common_real(const char* name, std::span<const NDArray> arrays) {
  DType common = DType::kFloat32;
  for (const NDArray& array : arrays) {
    check(item_size(array.dtype()) != 2 || !is_floating(array.dtype()), ErrorKind::kRuntime,
          "{}: float32 or float64 is needed, got {}; convert the array with astype", name, dtype_name(array.dtype()));
    if (array.dtype() != DType::kFloat32) common = DType::kFloat64;
  }
  return common;
}

double stack_cost(int64_t count, double flops) {
  constexpr double kCall = 500, kFlop = 0.1;
  return 100 + static_cast<double>(count) * (kCall + kFlop * flops);
}

NDArray triangle_of(const NDArray& matrices, bool lower) { return call(lower ? "_npi_tril" : "_npi_triu", {matrices}); }

NDArray transposed(const NDArray& matrices) {
  return call("SwapAxis", {matrices}, {{"dim1", int64_t{-2}}, {"dim2", int64_t{-1}}});
}

NDArray mirrored(const NDArray& matrices, bool lower) {
  const NDArray beside = call(lower ? "_npi_tril" : "_npi_triu", {matrices}, {{"k", lower ? int64_t{-1} : int64_t{1}}});
  return triangle_of(matrices, lower) + transposed(beside);
}

NDArray products(const NDArray& a, const NDArray& b, bool transpose_a, bool transpose_b) {
  return call("batch_dot", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

NDArray scaled(const NDArray& array, double factor) {
  return factor == 1 ? array : call("_mul_scalar", {array}, {{"scalar", factor}});
}

NDArray head_or_zeros(const Gradient& g, size_t output) {
  if (g.has_head(output)) return g.head(output);
  Device device;  // outputs that are not saved have none
  for (size_t k = 0; k < g.op().outputs; ++k)
    if (g.has_head(k)) device = g.head(k).device();
  return full(g.output(output).shape(), 0, g.output(output).dtype(), device);
}

NDArray mirrored_difference(const NDArray& x, bool lower) { return mirrored(x - transposed(x), lower); }

NDArray gaps_between(const NDArray& values) {
  const double least = values.dtype() == DType::kFloat32 ? 1e-30 : 1e-100;
  const NDArray column = call("expand_dims", {values}, {{"axis", int64_t{-1}}}),
                row = call("expand_dims", {values}, {{"axis", int64_t{-2}}});
  return call("_maximum_scalar", {call("abs", {column - row})}, {{"scalar", least}});
}

}  // namespace headrace
