// dot of nd and np: one pair of axes is contracted.

#include "ops/linalg/dot.h"

#include "op/gradient.h"
#include "op/invoke.h"
#include "op/invoke_stored.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/linalg/matrix.h"
#include "ops/shape/geometry.h"
#include "ops/sparse/sparse_dot.h"

namespace headrace {
namespace {

// How the arrays of one call are read as an m x k and a k x n matrix.
struct Contraction {
  int64_t m = 1, n = 1, k = 1;
  Shape result;
};

Contraction contraction_of(const Infer& i, size_t a_axis, size_t b_axis) {
  const Shape &a = i.shape(0), &b = i.shape(1);
  Contraction c;
  c.k = a[a_axis];
  i.require(c.k == b[b_axis], ErrorKind::kRuntime,
            "axis {} of shape {} has extent {}, but axis {} of shape {} has extent {}; they must be equal", a_axis,
            to_string(a), c.k, b_axis, to_string(b), b[b_axis]);
  for (size_t k = 0; k < a.size(); ++k) {
    if (k == a_axis) continue;
    c.m *= a[k];
    c.result.push_back(a[k]);
  }
  for (size_t k = 0; k < b.size(); ++k) {
    if (k == b_axis) continue;
    c.n *= b[k];
    c.result.push_back(b[k]);
  }
  return c;
}

void infer_dot(Infer& i, const DotAttrs& a) {
  require_same_dtype(i);
  i.require(!i.shape(0).empty() && !i.shape(1).empty(), ErrorKind::kRuntime,
            "arrays of at least one axis are needed, got shapes {} and {}", to_string(i.shape(0)),
            to_string(i.shape(1)));
  Contraction c =
      contraction_of(i, a.transpose_a ? 0 : i.shape(0).size() - 1, a.transpose_b ? i.shape(1).size() - 1 : 0);
  if (c.result.empty()) c.result = {1};
  i.output(c.result, i.dtype(0));
  set_gemm_cost(i, 1, c.m, c.n, c.k);
}

// The contracted extents are one; the others make the result.
void complete_dot(Completion& c, const DotAttrs& a) {
  if (!c.has_rank(0) || !c.has_rank(1) || c.shape(0).empty() || c.shape(1).empty()) return;
  const size_t left = a.transpose_a ? 0 : c.shape(0).size() - 1, right = a.transpose_b ? c.shape(1).size() - 1 : 0;
  Shape lhs(c.shape(0).size(), -1), rhs(c.shape(1).size(), -1);
  lhs[left] = c.shape(1)[right];
  rhs[right] = c.shape(0)[left];
  c.set(0, lhs);
  c.set(1, rhs);
  Shape result = c.shape(0);
  result.erase(left);
  for (size_t k = 0; k < rhs.size(); ++k)
    if (k != right) result.push_back(c.shape(1)[k]);
  c.set_output(0, result.empty() ? Shape{1} : result);
}

void run_dot(KernelContext& context, const DotAttrs& at) {
  const Tensor &a = context.input(0), &b = context.input(1), &c = context.output(0);
  size_t a_last = a.shape.size() - 1, b_last = b.shape.size() - 1;
  Gemm g{.dtype = c.dtype, .c = c.data};
  g.k = at.transpose_a ? a.shape[0] : a.shape[a_last];
  for (size_t i = 0; i <= a_last; ++i) g.m *= i == (at.transpose_a ? 0 : a_last) ? 1 : a.shape[i];
  for (size_t i = 0; i <= b_last; ++i) g.n *= i == (at.transpose_b ? b_last : 0) ? 1 : b.shape[i];
  g.a = at.transpose_a ? transposed(as_matrix(context, a, 1)) : as_matrix(context, a, a_last);
  g.b = at.transpose_b ? transposed(as_matrix(context, b, b_last)) : as_matrix(context, b, 1);
  gemm(context, g);
}

// The gradient of the dense factor is a product with the transposed csr matrix, stored as who wants it has room for.
void csr_dot_back(Gradient& g, const DotAttrs& a) {
  const NDArray &lhs = g.input(0), head = dense(g.head());
  if (g.wants(0)) {
    const NDArray rhs = dense(g.input(1));
    const DotAttrs of_matrix{.transpose_b = true};
    const int64_t n = rhs.shape()[0] == 0 ? 0 : rhs.size() / rhs.shape()[0];
    const NDArray rows = matrix_of(rhs, rhs.shape()[0], n), heads = matrix_of(head, head.shape()[0], n);
    g.set(0, a.transpose_a ? call(g.op(), make_attrs(of_matrix), {rows, heads})
                           : call(g.op(), make_attrs(of_matrix), {heads, rows}));
  }
  if (!g.wants(1)) return;
  const NDArray inputs[2] = {lhs, head};
  g.set(1, g.op(), make_attrs(DotAttrs{.transpose_a = !a.transpose_a}), inputs);
}

// With a (m x k), b (k x n) and the head (m x n) as matrices: da = head b', db = a' head, or their transposes.
void dot_back(Gradient& g, const DotAttrs& a) {
  if (g.input(0).storage_kind() == StorageKind::kCsr && !a.transpose_b) return csr_dot_back(g, a);
  const NDArray lhs = dense(g.input(0)), rhs = dense(g.input(1));
  int64_t k = a.transpose_a ? lhs.shape().front() : lhs.shape().back();
  int64_t m = k == 0 ? 0 : lhs.size() / k, n = k == 0 ? 0 : rhs.size() / k;
  if (k == 0) {
    g.set(0, zeros_like(lhs));
    g.set(1, zeros_like(rhs));
    return;
  }
  NDArray head = matrix_of(dense(g.head()), m, n);
  if (g.wants(0)) {
    NDArray b = a.transpose_b ? matrix_of(rhs, n, k) : matrix_of(rhs, k, n);
    if (a.transpose_a)
      set_product(g, 0, b, head, a.transpose_b, true);
    else
      set_product(g, 0, head, b, false, !a.transpose_b);
  }
  if (g.wants(1)) {
    NDArray l = a.transpose_a ? matrix_of(lhs, k, m) : matrix_of(lhs, m, k);
    if (a.transpose_b)
      set_product(g, 1, head, l, true, a.transpose_a);
    else
      set_product(g, 1, l, head, !a.transpose_a, false);
  }
}

OpDef nd_dot() {
  return general<DotAttrs>({
      .name = "dot",
      .python = {"nd.dot", "NDArray.dot"},
      .doc = R"(Product of two arrays: the last axis of lhs is contracted with the first axis of rhs.

Shapes (a..., k) and (k, b...) give (a..., b...); two vectors give shape (1,). With transpose_a lhs is (k, a...), with
transpose_b rhs is (b..., k). A csr matrix times a dense array is dense; with transpose_a it is row_sparse, unless
forward_stype says 'default'. A dense matrix times a csr matrix is csr, likewise. Both arrays hold one dtype. Raises MXNetError when the contracted extents differ.)",
      .inputs = {"lhs", "rhs"},
      .complete = complete_dot,
      .infer = infer_dot,
      .kernel = run_dot,
      .storage_forms = sparse_dot_forms(),
      .gradient = dot_back,
      .strided_inputs = true,
      .samples = {std::vector{uniform({2, 3}), uniform({3, 4})},
                  {{uniform({3, 2}), uniform({4, 3})}, make_attrs(DotAttrs{true, true})},
                  std::vector{uniform({2, 5, 3}), uniform({3, 4, 2})},
                  std::vector{uniform({3}), uniform({3})}},
  });
}

// --- np.dot ----------------------------------------------------------------------------------------------------------

// The axis of b that is contracted: its last but one, or its only one.
size_t np_axis(const Shape& b) { return b.size() < 2 ? 0 : b.size() - 2; }

void infer_np_dot(Infer& i, const NoAttrs&) {
  require_same_dtype(i);
  const Shape &a = i.shape(0), &b = i.shape(1);
  Contraction c;
  if (a.empty() || b.empty()) {
    c.result = a.empty() ? b : a;
    c.m = i.size(0);
    c.n = i.size(1);
  } else {
    c = contraction_of(i, a.size() - 1, np_axis(b));
  }
  i.output(c.result, i.dtype(0));
  set_gemm_cost(i, 1, c.m, c.n, c.k);
}

void complete_np_dot(Completion& c, const NoAttrs&) {
  if (!c.has_rank(0) || !c.has_rank(1) || c.shape(0).empty() || c.shape(1).empty()) return;
  const size_t left = c.shape(0).size() - 1, right = np_axis(c.shape(1));
  Shape a(left + 1, -1), b(c.shape(1).size(), -1);
  a[left] = c.shape(1)[right];
  b[right] = c.shape(0)[left];
  c.set(0, a);
  c.set(1, b);
  Shape result(c.shape(0).begin(), c.shape(0).begin() + static_cast<std::ptrdiff_t>(left));
  for (size_t k = 0; k < b.size(); ++k)
    if (k != right) result.push_back(c.shape(1)[k]);
  c.set_output(0, result);
}

void run_np_dot(KernelContext& context, const NoAttrs&) {
  const Tensor &a = context.input(0), &b = context.input(1), &c = context.output(0);
  Gemm g{.dtype = c.dtype, .m = a.size, .n = b.size, .k = 1, .c = c.data};
  if (a.shape.empty() || b.shape.empty()) {
    g.a = as_matrix(context, a, a.shape.size());
    g.b = as_matrix(context, b, 0);
  } else {
    g.k = a.shape.back();
    g.m = g.n = 1;
    size_t axis = np_axis(b.shape);
    for (size_t i = 0; i + 1 < a.shape.size(); ++i) g.m *= a.shape[i];
    for (size_t i = 0; i < b.shape.size(); ++i) g.n *= i == axis ? 1 : b.shape[i];
    g.a = as_matrix(context, a, a.shape.size() - 1);
    Shape order{static_cast<int64_t>(axis)};
    for (size_t i = 0; i < b.shape.size(); ++i)
      if (i != axis) order.push_back(static_cast<int64_t>(i));
    Geometry first = permuted({b.shape, b.strides, 0}, order);
    g.b = as_matrix(context, {b.data, b.dtype, first.shape, first.strides, b.size}, 1);
  }
  gemm(context, g);
}

void np_dot_back(Gradient& g, const NoAttrs&) {
  const NDArray &a = g.input(0), &b = g.input(1), &head = g.head();
  if (a.ndim() == 0 || b.ndim() == 0) {
    if (g.wants(0)) g.set(0, sum_to_shape(call("_npi_multiply", {head, b}), a.shape()));
    if (g.wants(1)) g.set(1, sum_to_shape(call("_npi_multiply", {head, a}), b.shape()));
    return;
  }
  int64_t k = a.shape().back();
  if (k == 0) {
    g.set(0, zeros_like(a));
    g.set(1, zeros_like(b));
    return;
  }
  NDArray rows = matrix_of(head, a.size() / k, b.size() / k);
  int64_t axis = static_cast<int64_t>(np_axis(b.shape()));
  bool plain = b.ndim() <= 2;
  NDArray first = plain ? b : call("_np_moveaxis", {b}, {{"source", Shape{axis}}, {"destination", Shape{0}}});
  if (g.wants(0)) set_product(g, 0, rows, matrix_of(first, k, -1), false, true);
  if (!g.wants(1)) return;
  NDArray left = matrix_of(a, -1, k);
  if (plain) {
    set_product(g, 1, left, rows, true, false);
  } else {
    NDArray moved = call("_reshape_to", {product(left, rows, true)}, {{"shape", first.shape()}});
    g.set(1, call("_np_moveaxis", {moved}, {{"source", Shape{0}}, {"destination", Shape{axis}}}));
  }
}

OpDef np_dot() {
  return general<NoAttrs>({
      .name = "_np_dot",
      .python = {"np.dot", "ndarray.dot"},
      .doc =
          R"(Product of two arrays: the last axis of a is contracted with the last but one of b (its only one if 1-D).

Two vectors give a 0-d array, an array of shape () scales the other. For more axes the result has shape
a.shape[:-1] + b.shape[:-2] + b.shape[-1:]. Raises MXNetError when the contracted extents differ.)",
      .inputs = {"a", "b"},
      .complete = complete_np_dot,
      .infer = infer_np_dot,
      .kernel = run_np_dot,
      .gradient = np_dot_back,
      .strided_inputs = true,
      .samples = {std::vector{uniform({2, 3}), uniform({3, 4})}, std::vector{uniform({2, 3}), uniform({3})},
                  std::vector{uniform({2, 3}), uniform({2, 3, 4})}, std::vector{uniform({3}), uniform({})}},
  });
}

}  // namespace

Operators dot_operators() { return {nd_dot(), np_dot()}; }

}  // namespace headrace
