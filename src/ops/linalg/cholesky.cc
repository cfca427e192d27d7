// Cholesky factors and what is done with triangular matrices: potrf, potri, trmm, trsm and NumPy's cholesky.
#include <cstring>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/stacks.h"

namespace headrace {
namespace {

using lapack::Triangle;

struct CholeskyAttrs {
  bool lower = true;
  static constexpr auto kFields =
      fields(field(&CholeskyAttrs::lower, "lower", "Whether the factor is the lower triangle; the upper otherwise."));
};

struct TriangularAttrs {
  bool transpose = false, rightside = false, lower = true;
  double alpha = 1;
  static constexpr auto kFields =
      fields(field(&TriangularAttrs::transpose, "transpose", "Whether A is transposed."),
             field(&TriangularAttrs::rightside, "rightside", "Whether A stands at the right."),
             field(&TriangularAttrs::lower, "lower", "Whether A is the lower triangle; the upper otherwise."),
             field(&TriangularAttrs::alpha, "alpha", "Factor of B."));
};

// LAPACK sees row-major matrices transposed.
Triangle seen(bool lower) { return lower ? Triangle::kUpper : Triangle::kLower; }

template <class T>
void clear_other_triangle(T* matrix, int n, bool lower) {
  for (int64_t r = 0; r < n; ++r) {
    T* row = matrix + r * n;
    if (lower)
      std::fill(row + r + 1, row + n, T{0});
    else
      std::fill(row, row + r, T{0});
  }
}

template <class T>
void copy_to_other_triangle(T* matrix, int n, bool lower) {
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < r; ++c)
      if (lower)
        matrix[c * n + r] = matrix[r * n + c];
      else
        matrix[r * n + c] = matrix[c * n + r];
}

// Input 0 goes into the output, where change(matrix, number of the matrix) works on it.
template <class F>
void change_copies(KernelContext& c, double flops, F&& change) {
  const Stack s = stack_of(c.output(0).shape);
  if (s.size() == 0) return;
  const Tensor &in = c.input(0), &out = c.output(0);
  for_matrices(c, s.count, flops, [&]<class T>(int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      T* matrix = out.as<T>() + k * s.size();
      std::memcpy(matrix, in.as<T>() + k * s.size(), static_cast<size_t>(s.size()) * sizeof(T));
      change(matrix, k);
    }
  });
}

void infer_square(Infer& i, double flops_factor) {
  expect_square_matrices(i);
  const Stack s = stack_of(i.shape(0));
  i.output(i.shape(0), i.dtype(0));
  i.cost(stack_cost(s.count, cubed(flops_factor, s.rows)));
}

void factorize_cholesky_on_host(KernelContext& c, bool lower) {
  const int n = stack_of(c.input(0).shape).rows;
  change_copies(c, cubed(1.0 / 3, n), [&]<class T>(T* matrix, int64_t k) {
    check_positive_definite(c.name(), k, lapack::potrf(seen(lower), n, matrix));
    clear_other_triangle(matrix, n, lower);
  });
}

// B = potrf(A): dA = B^-T mirrored(B' dB) B^-1 / 2, for lower factors; the other way round for upper ones.
void cholesky_back(Gradient& g, const CholeskyAttrs& a) {
  const NDArray& factor = g.output();
  const auto with_factor = [&](const char* op, const NDArray& x, bool right, bool transpose, double alpha) {
    return call(op, {factor, x},
                {{"rightside", right}, {"lower", a.lower}, {"transpose", transpose}, {"alpha", alpha}});
  };
  const NDArray inner = mirrored(with_factor("_linalg_trmm", g.head(), !a.lower, true, 1), a.lower);
  const NDArray left = with_factor("_linalg_trsm", inner, false, a.lower, 1);
  g.set(0, with_factor("_linalg_trsm", left, true, !a.lower, 0.5));
}

SampleArray positive_definite() { return {{2, 2, 2}, DType::kFloat32, 0, 0, {4, 1, 1, 4.25, 16, 4, 4, 17}}; }

OpDef potrf() {
  return general<CholeskyAttrs>(
      {.name = "_linalg_potrf",
       .aliases = {"linalg_potrf"},
       .python = {"nd.linalg.potrf", "nd.linalg_potrf"},
       .doc = R"(Cholesky factors of symmetric positive definite matrices: A = L L', or A = U' U for lower=False.

The matrices (..., n, n) are in the last two axes, of float32 or float64; of each, only the triangle that `lower`
names is read. The gradient is that of symmetric matrices. Raises MXNetError for other shapes and dtypes and, when the
result is waited for, for a matrix that is not positive definite.)",
       .inputs = {"A"},
       .infer = [](Infer& i, const CholeskyAttrs&) { infer_square(i, 1.0 / 3); },
       .kernel = [](KernelContext& c, const CholeskyAttrs& a) { factorize_cholesky(c, a.lower); },
       .gradient = cholesky_back,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .saves_outputs = 1,
       .samples = {positive_definite(), Sample({positive_definite()}, make_attrs(CholeskyAttrs{.lower = false}))}});
}

OpDef np_cholesky() {
  return general<>({.name = "_npi_cholesky",
                    .python = {"np.linalg.cholesky"},
                    .doc = R"(The lower Cholesky factors L of symmetric positive definite matrices: A = L L'.

The matrices (..., n, n) are in the last two axes, of float32 or float64; only their lower triangles are read. The
gradient is that of symmetric matrices. Raises MXNetError for other shapes and dtypes and, when the result is waited
for, for a matrix that is not positive definite.)",
                    .inputs = {"A"},
                    .np_inputs = {"a"},
                    .infer = [](Infer& i, const NoAttrs&) { infer_square(i, 1.0 / 3); },
                    .kernel = [](KernelContext& c, const NoAttrs&) { factorize_cholesky(c, true); },
                    .gradient = [](Gradient& g, const NoAttrs&) { cholesky_back(g, {}); },
                    .own_gradient = true,
                    .saves_inputs = kNothing,
                    .saves_outputs = 1,
                    .samples = {positive_definite()}});
}

void invert_product_on_host(KernelContext& c, bool lower) {
  const int n = stack_of(c.input(0).shape).rows;
  change_copies(c, cubed(2.0 / 3, n), [&]<class T>(T* matrix, int64_t k) {
    check_diagonal(c.name(), k, lapack::potri(seen(lower), n, matrix));
    copy_to_other_triangle(matrix, n, lower);
  });
}

// A = potri(B): dB is the triangle of -A (dA + dA') B^-T.
void invert_product_back(Gradient& g, const CholeskyAttrs& a) {
  const NDArray &factor = g.input(0), &inverse = g.output();
  const NDArray both = g.head() + transposed(g.head());
  const NDArray product = a.lower ? products(inverse, both) : products(both, inverse);
  const NDArray solved = call("_linalg_trsm", {factor, product},
                              {{"rightside", a.lower}, {"lower", a.lower}, {"transpose", true}, {"alpha", -1.0}});
  g.set(0, triangle_of(solved, a.lower));
}

OpDef potri() {
  return general<CholeskyAttrs>(
      {.name = "_linalg_potri",
       .aliases = {"linalg_potri"},
       .python = {"nd.linalg.potri", "nd.linalg_potri"},
       .doc = R"(Inverses of the matrices whose Cholesky factors are given: (A A')^-1, or (A' A)^-1 for lower=False.

The factors (..., n, n) are in the last two axes, of float32 or float64; of each, only the triangle that `lower` names
is read. Raises MXNetError for other shapes and dtypes and, when the result is waited for, for a 0 on a diagonal.)",
       .inputs = {"A"},
       .infer = [](Infer& i, const CholeskyAttrs&) { infer_square(i, 2.0 / 3); },
       .kernel = [](KernelContext& c, const CholeskyAttrs& a) { invert_product(c, a.lower); },
       .gradient = invert_product_back,
       .saves_outputs = 1,
       .samples = {uniform({2, 3, 3}, 1, 2),
                   Sample({uniform({3, 3}, 1, 2)}, make_attrs(CholeskyAttrs{.lower = false}))}});
}

// --- products with triangular matrices and their inverses ------------------------------------------------------------

void infer_triangular(Infer& i, const TriangularAttrs& a) {
  expect_square_matrices(i, 0);
  expect_matrices(i, 1);
  expect_one_dtype(i);
  const Shape &factor = i.shape(0), &other = i.shape(1);
  i.require(factor.size() == other.size() && batch_shape(factor) == batch_shape(other), ErrorKind::kRuntime,
            "shapes {} and {} must agree in all axes but the last two", to_string(factor), to_string(other));
  const Stack s = stack_of(other);
  const int n = a.rightside ? s.columns : s.rows;
  i.require(n == factor.back(), ErrorKind::kRuntime, "A has shape {} and B {}: B must have {} {}", to_string(factor),
            to_string(other), factor.back(), a.rightside ? "columns" : "rows");
  i.output(other, i.dtype(0));
  i.cost(stack_cost(s.count, static_cast<double>(n) * static_cast<double>(s.size())));
}

void run_triangular(KernelContext& c, const TriangularProduct& a, bool solves) {
  const Tensor &factor = c.input(0), &other = c.input(1), &out = c.output(0);
  const Stack s = stack_of(out.shape);
  if (s.size() == 0) return;
  const int64_t n = a.rightside ? s.columns : s.rows;
  for_matrices(c, s.count, static_cast<double>(n * s.size()), [&]<class T>(int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      T* to = out.as<T>() + k * s.size();
      std::memcpy(to, other.as<T>() + k * s.size(), static_cast<size_t>(s.size()) * sizeof(T));
      // Transposed, what stands at the left stands at the right.
      (solves ? lapack::trsm<T> : lapack::trmm<T>)(a.rightside, seen(a.lower), a.transpose, s.columns, s.rows,
                                                   static_cast<T>(a.alpha), factor.as<T>() + k * n * n, to);
    }
  });
}

AttrsPtr turned(const TriangularAttrs& a, double alpha) {
  return make_attrs(
      TriangularAttrs{.transpose = !a.transpose, .rightside = a.rightside, .lower = a.lower, .alpha = alpha});
}

// The gradient of A where C = op(A) B or C = B op(A), without the zeros.
NDArray factor_gradient(const NDArray& head, const NDArray& other, const TriangularAttrs& a) {
  const NDArray product = a.rightside == a.transpose ? products(head, other, a.transpose, !a.transpose)
                                                     : products(other, head, !a.transpose, a.transpose);
  return triangle_of(product, a.lower);
}

void multiply_on_host(KernelContext& c, const TriangularProduct& p) { run_triangular(c, p, false); }

void solve_triangular_on_host(KernelContext& c, const TriangularProduct& p) { run_triangular(c, p, true); }

TriangularProduct described(const TriangularAttrs& a) { return {a.transpose, a.rightside, a.lower, a.alpha}; }

OpDef trmm() {
  return general<TriangularAttrs>(
      {.name = "_linalg_trmm",
       .aliases = {"linalg_trmm"},
       .python = {"nd.linalg.trmm", "nd.linalg_trmm"},
       .doc = R"(Products with triangular matrices: alpha op(A) B, or alpha B op(A) with rightside=True.

op is the transpose with transpose=True. A (..., n, n) and B, of float32 or float64, have their matrices in the last
two axes; of A, only the triangle that `lower` names is read. Raises MXNetError for other shapes and dtypes.)",
       .inputs = {"A", "B"},
       .infer = infer_triangular,
       .kernel = [](KernelContext& c, const TriangularAttrs& a) { multiply_triangular(c, described(a)); },
       .gradient =
           [](Gradient& g, const TriangularAttrs& a) {
             if (g.wants(0)) g.set(0, factor_gradient(scaled(g.head(), a.alpha), g.input(1), a));
             if (g.wants(1)) g.set(1, call(g.op(), turned(a, a.alpha), {g.input(0), g.head()}));
           },
       .samples = {std::vector{uniform({2, 3, 3}), uniform({2, 3, 2})},
                   Sample({uniform({3, 3}), uniform({3, 2})}, make_attrs(TriangularAttrs{.transpose = true})),
                   Sample({uniform({3, 3}), uniform({2, 3})},
                          make_attrs(TriangularAttrs{.rightside = true, .lower = false, .alpha = -2})),
                   Sample({uniform({3, 3}), uniform({2, 3})},
                          make_attrs(TriangularAttrs{.transpose = true, .rightside = true}))}});
}

OpDef trsm() {
  return general<TriangularAttrs>(
      {.name = "_linalg_trsm",
       .aliases = {"linalg_trsm"},
       .python = {"nd.linalg.trsm", "nd.linalg_trsm"},
       .doc = R"(Solutions X of triangular systems: op(A) X = alpha B, or X op(A) = alpha B with rightside=True.

op is the transpose with transpose=True. A (..., n, n) and B, of float32 or float64, have their matrices in the last
two axes; of A, only the triangle that `lower` names is read. A 0 on its diagonal gives infinite or NaN elements.
Raises MXNetError for other shapes and dtypes.)",
       .inputs = {"A", "B"},
       .infer = infer_triangular,
       .kernel = [](KernelContext& c, const TriangularAttrs& a) { solve_triangular(c, described(a)); },
       .gradient =
           [](Gradient& g, const TriangularAttrs& a) {
             const NDArray solved = call(g.op(), turned(a, 1), {g.input(0), g.head()});
             if (g.wants(0)) g.set(0, factor_gradient(scaled(solved, -1), g.output(), a));
             if (g.wants(1)) g.set(1, scaled(solved, a.alpha));
           },
       .saves_inputs = 1,
       .saves_outputs = 1,
       .samples = {std::vector{uniform({2, 3, 3}, 1, 2), uniform({2, 3, 2})},
                   Sample({uniform({3, 3}, 1, 2), uniform({3, 2})}, make_attrs(TriangularAttrs{.transpose = true})),
                   Sample({uniform({3, 3}, 1, 2), uniform({2, 3})},
                          make_attrs(TriangularAttrs{.rightside = true, .lower = false, .alpha = -2})),
                   Sample({uniform({3, 3}, 1, 2), uniform({2, 3})},
                          make_attrs(TriangularAttrs{.transpose = true, .rightside = true}))}});
}

}  // namespace

void check_positive_definite(std::string_view op, int64_t matrix, int info) {
  check(info == 0, ErrorKind::kRuntime,
        "{}: matrix {} is not positive definite: its leading minor of order {} is not positive", op, matrix, info);
}

void check_diagonal(std::string_view op, int64_t matrix, int info) {
  check(info == 0, ErrorKind::kRuntime, "{}: matrix {} has no inverse: element {} of its diagonal is 0", op, matrix,
        info - 1);
}

const decltype(factorize_cholesky) factorize_cholesky{"factorize_cholesky", factorize_cholesky_on_host};
const decltype(invert_product) invert_product{"invert_product", invert_product_on_host};
const decltype(multiply_triangular) multiply_triangular{"multiply_triangular", multiply_on_host};
const decltype(solve_triangular) solve_triangular{"solve_triangular", solve_triangular_on_host};

Operators cholesky_operators() { return {potrf(), np_cholesky(), potri(), trmm(), trsm()}; }

}  // namespace headrace
