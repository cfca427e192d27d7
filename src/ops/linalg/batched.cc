// Products of stacks of matrices: batch_dot and matmul, and linalg's gemm family on top of them.

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/linalg/dot.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/stacks.h"

namespace headrace {
namespace {

// The leading axes of both inputs together; equal ones when they may not be broadcast.
Shape batch_of(const Shape& a, const Shape& b, const char* name) {
  return broadcast_shapes(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2), name);
}

void infer_batched(Infer& i, const DotAttrs& at, bool broadcasts) {
  require_same_dtype(i);
  const Shape &a = i.shape(0), &b = i.shape(1);
  i.require(a.size() >= 2 && b.size() >= 2 && (broadcasts || a.size() == b.size()), ErrorKind::kRuntime,
            "stacks of matrices are needed, got shapes {} and {}", to_string(a), to_string(b));
  int64_t m = a[a.size() - 2], k = a.back(), inner = b[b.size() - 2], n = b.back();
  if (at.transpose_a) std::swap(m, k);
  if (at.transpose_b) std::swap(inner, n);
  i.require(k == inner, ErrorKind::kRuntime,
            "the matrices are {} x {} and {} x {} (shapes {} and {}); the inner extents must be equal", m, k, inner, n,
            to_string(a), to_string(b));
  Shape shape = batch_of(a, b, i.name());
  if (!broadcasts)
    i.require(std::equal(shape.begin(), shape.end(), a.begin()) && std::equal(shape.begin(), shape.end(), b.begin()),
              ErrorKind::kRuntime, "shapes {} and {} must agree in all axes but the last two", to_string(a),
              to_string(b));
  set_gemm_cost(i, element_count(shape), m, n, k);
  shape.push_back(m);
  shape.push_back(n);
  i.output(shape, i.dtype(0));
}

void run_batched(KernelContext& c, const DotAttrs& at) {
  const Tensor &a = c.input(0), &b = c.input(1), &out = c.output(0);
  Gemm g{.dtype = out.dtype, .c = out.data};
  size_t ndim = out.shape.size();
  g.m = out.shape[ndim - 2];
  g.n = out.shape[ndim - 1];
  g.k = a.shape[a.shape.size() - (at.transpose_a ? 2 : 1)];
  g.batch = Shape(out.shape.begin(), out.shape.end() - 2);
  g.a = matrix_stack(a, at.transpose_a, g.batch);
  g.b = matrix_stack(b, at.transpose_b, g.batch);
  gemm(c, g);
}

NDArray batched(const NDArray& a, const NDArray& b, bool transpose_a, bool transpose_b) {
  static const OpDef& op = find_op("_batched_product");
  return call(op, make_attrs(DotAttrs{transpose_a, transpose_b}), {a, b});
}

void batched_back(Gradient& g, const DotAttrs& at) {
  const NDArray &a = g.input(0), &b = g.input(1), &head = g.head();
  bool ta = at.transpose_a, tb = at.transpose_b;
  if (g.wants(0)) g.set(0, sum_to_shape(ta ? batched(b, head, tb, true) : batched(head, b, false, !tb), a.shape()));
  if (g.wants(1)) g.set(1, sum_to_shape(tb ? batched(head, a, true, ta) : batched(a, head, !ta, false), b.shape()));
}

OpDef batched_product() {
  return general<DotAttrs>({
      .name = "_batched_product",
      .doc = "Products of matrices in the last two axes; the axes before are broadcast.",
      .inputs = {"a", "b"},
      .infer = [](Infer& i, const DotAttrs& a) { infer_batched(i, a, true); },
      .kernel = run_batched,
      .gradient = batched_back,
      .strided_inputs = true,
      .samples = {std::vector{uniform({2, 1, 2, 3}), uniform({3, 3, 2})}},
  });
}

// What is known of one input or of the result holds for the others.
void complete_batch_dot(Completion& c, const DotAttrs& at) {
  if (!c.has_rank(0) || !c.has_rank(1) || c.shape(0).size() < 2 || c.shape(0).size() != c.shape(1).size()) return;
  const size_t last = c.shape(0).size() - 1;
  const auto side = [&](size_t input, bool transposed, bool rows) {
    return c.shape(input)[rows != transposed ? last - 1 : last];
  };
  Shape a(last + 1, -1), b(last + 1, -1);
  for (size_t k = 0; k + 1 < last; ++k) {
    a[k] = c.shape(1)[k];
    b[k] = c.shape(0)[k];
  }
  a[at.transpose_a ? last - 1 : last] = side(1, at.transpose_b, true);
  b[at.transpose_b ? last : last - 1] = side(0, at.transpose_a, false);
  c.set(0, a);
  c.set(1, b);
  Shape result = c.shape(0);
  result[last - 1] = side(0, at.transpose_a, true);
  result[last] = side(1, at.transpose_b, false);
  c.set_output(0, result);
}

OpDef batch_dot() {
  return general<DotAttrs>({
      .name = "batch_dot",
      .aliases = {"_npx_batch_dot"},
      .python = {"nd.batch_dot", "npx.batch_dot"},
      .doc = R"(Products of the matrices in the last two axes of two stacks.

Shapes (..., m, k) and (..., k, n) give (..., m, n); transpose_a and transpose_b exchange the last two axes of an input.
Raises MXNetError when shapes or dtypes do not fit.)",
      .inputs = {"lhs", "rhs"},
      .np_inputs = {"a", "b"},
      .complete = complete_batch_dot,
      .infer = [](Infer& i, const DotAttrs& a) { infer_batched(i, a, false); },
      .kernel = run_batched,
      .gradient = batched_back,
      .strided_inputs = true,
      .samples = {std::vector{uniform({2, 2, 3}), uniform({2, 3, 2})},
                  {{uniform({2, 3, 2}), uniform({2, 4, 3})}, make_attrs(DotAttrs{true, true})}},
  });
}

OpDef matmul() {
  return general<NoAttrs>({
      .name = "_npi_matmul",
      .aliases = {"_np_matmul"},
      .python = {"np.matmul"},
      .doc = R"(Matrix product of the last two axes; the axes before are broadcast.

A 1-D array counts as one row (a) or one column (b), which the result does not have. Raises MXNetError for arrays of
shape () and when the inner extents differ.)",
      .inputs = {"a", "b"},
      .array_names = {.outputs = {"out"}},
      .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
        const NDArray &a = in[0], &b = in[1];
        check(a.ndim() > 0 && b.ndim() > 0, ErrorKind::kRuntime,
              "matmul: arrays of shape () cannot be multiplied as matrices; use *");
        int64_t inner = b.ndim() > 1 ? b.shape()[b.ndim() - 2] : b.size();
        check(a.shape().back() == inner, ErrorKind::kRuntime,
              "matmul: the last axis of shape {} must have the extent of the rows of shape {}: {} and {} were given",
              to_string(a.shape()), to_string(b.shape()), a.shape().back(), inner);
        if (a.ndim() > 1 && b.ndim() > 1) return {batched(a, b, false, false)};
        NDArray left = a.ndim() > 1 ? a : reshaped_to(a, {1, a.size()});
        NDArray right = b.ndim() > 1 ? b : reshaped_to(b, {b.size(), 1});
        NDArray result = batched(left, right, false, false);
        Shape shape = result.shape();
        if (b.ndim() == 1) shape.pop_back();
        if (a.ndim() == 1) shape.erase(shape.size() - (b.ndim() == 1 ? 1 : 2));
        return {reshaped_to(result, shape)};
      },
      .samples = {std::vector{uniform({2, 1, 2, 3}), uniform({3, 3, 2})},
                  std::vector{uniform({3}), uniform({2, 3, 2})}},
  });
}

// --- nd.linalg -------------------------------------------------------------------------------------------------------

struct Gemm2Attrs {
  bool transpose_a = false, transpose_b = false;
  double alpha = 1;
  int64_t axis = -2;
  static constexpr auto kFields = fields(field(&Gemm2Attrs::transpose_a, "transpose_a", "Whether A is transposed."),
                                         field(&Gemm2Attrs::transpose_b, "transpose_b", "Whether B is transposed."),
                                         field(&Gemm2Attrs::alpha, "alpha", "Factor of the product."),
                                         field(&Gemm2Attrs::axis, "axis", "The axis of the matrix rows."));
};

struct GemmAttrs {
  bool transpose_a = false, transpose_b = false;
  double alpha = 1, beta = 1;
  int64_t axis = -2;
  static constexpr auto kFields = fields(field(&GemmAttrs::transpose_a, "transpose_a", "Whether A is transposed."),
                                         field(&GemmAttrs::transpose_b, "transpose_b", "Whether B is transposed."),
                                         field(&GemmAttrs::alpha, "alpha", "Factor of the product."),
                                         field(&GemmAttrs::beta, "beta", "Factor of C."),
                                         field(&GemmAttrs::axis, "axis", "The axis of the matrix rows."));
};

struct SyrkAttrs {
  bool transpose = false;
  double alpha = 1;
  static constexpr auto kFields = fields(field(&SyrkAttrs::transpose, "transpose", "Whether A is transposed first."),
                                         field(&SyrkAttrs::alpha, "alpha", "Factor of the product."));
};

// Matrix rows lie along `axis`: brought next to the last axis, and back afterwards.
NDArray with_rows(const NDArray& array, int64_t axis, bool back) {
  int64_t ndim = static_cast<int64_t>(array.ndim()), rows = normalize_axis(axis, ndim, "linalg.gemm");
  if (rows == ndim - 2) return array;
  check(rows < ndim - 1, ErrorKind::kValue, "linalg.gemm: axis {} must lie before the last axis", axis);
  return call("_np_moveaxis", {array},
              {{"source", Shape{back ? ndim - 2 : rows}}, {"destination", Shape{back ? rows : ndim - 2}}});
}

NDArray gemm2(const NDArray& a, const NDArray& b, bool ta, bool tb, double alpha, int64_t axis) {
  NDArray result = call("batch_dot", {with_rows(a, axis, false), with_rows(b, axis, false)},
                        {{"transpose_a", ta}, {"transpose_b", tb}});
  return scaled(with_rows(result, axis, true), alpha);
}

// The third input has the shape of the product.
void complete_gemm(Completion& c, const GemmAttrs& at) {
  if (!c.is_known(0) || !c.is_known(1) || c.shape(0).size() != c.shape(1).size()) return;
  const Shape &a = c.shape(0), &b = c.shape(1);
  const auto ndim = static_cast<int64_t>(a.size()), rows = at.axis < 0 ? at.axis + ndim : at.axis;
  if (rows < 0 || rows >= ndim - 1) return;
  const auto row = static_cast<size_t>(rows);
  Shape shape = a;
  shape[row] = at.transpose_a ? a.back() : a[row];
  shape.back() = at.transpose_b ? b[row] : b.back();
  c.set(2, shape);
}

OpDef linalg_gemm2() {
  return general<Gemm2Attrs>({
      .name = "_linalg_gemm2",
      .aliases = {"linalg_gemm2"},
      .python = {"nd.linalg.gemm2", "nd.linalg_gemm2"},
      .doc = "alpha * op(A) op(B) for the matrices in the last two axes, op being the transpose when asked for.",
      .inputs = {"A", "B"},
      .compose = [](std::span<const NDArray> in, const Gemm2Attrs& a) -> std::vector<NDArray> {
        return {gemm2(in[0], in[1], a.transpose_a, a.transpose_b, a.alpha, a.axis)};
      },
      .samples = {std::vector{uniform({2, 2, 3}), uniform({2, 3, 2})}},
  });
}

OpDef linalg_gemm() {
  return general<GemmAttrs>({
      .name = "_linalg_gemm",
      .aliases = {"linalg_gemm"},
      .python = {"nd.linalg.gemm", "nd.linalg_gemm"},
      .doc = "alpha * op(A) op(B) + beta * C for the matrices in the last two axes.",
      .inputs = {"A", "B", "C"},
      .complete = complete_gemm,
      .compose = [](std::span<const NDArray> in, const GemmAttrs& a) -> std::vector<NDArray> {
        NDArray product = gemm2(in[0], in[1], a.transpose_a, a.transpose_b, a.alpha, a.axis);
        return {product + scaled(in[2], a.beta)};
      },
      .samples = {std::vector{uniform({2, 3}), uniform({3, 2}), uniform({2, 2})}},
  });
}

OpDef linalg_syrk() {
  return general<SyrkAttrs>({
      .name = "_linalg_syrk",
      .aliases = {"linalg_syrk"},
      .python = {"nd.linalg.syrk", "nd.linalg_syrk"},
      .doc = "alpha * A A' (or alpha * A' A with transpose=True) for the matrices in the last two axes.",
      .inputs = {"A"},
      .compose = [](std::span<const NDArray> in, const SyrkAttrs& a) -> std::vector<NDArray> {
        return {scaled(batched(in[0], in[0], a.transpose, !a.transpose), a.alpha)};
      },
      .samples = {uniform({2, 3})},
  });
}

}  // namespace

Operators batched_operators() {
  return {batched_product(), batch_dot(), matmul(), linalg_gemm2(), linalg_gemm(), linalg_syrk()};
}

}  // namespace headrace
