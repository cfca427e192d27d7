// LQ factors of matrices with more columns than rows.
#include <cstring>
#include <vector>

#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/stacks.h"

namespace headrace {
namespace {

void infer_lq(Infer& i) {
  expect_matrices(i);
  const Shape& shape = i.shape(0);
  const Stack s = stack_of(shape);
  i.require(s.rows <= s.columns, ErrorKind::kRuntime,
            "matrices may not have more rows than columns, got shape {}; give the transposed ones", to_string(shape));
  Shape square = shape;
  square.back() = s.rows;
  i.output(shape, i.dtype(0));
  i.output(square, i.dtype(0));
  i.cost(stack_cost(s.count, 4.0 * s.rows * static_cast<double>(s.size())));
}

// LAPACK sees A': its Q R is (L Q)'.
void factorize_lq_on_host(KernelContext& c) {
  const Tensor &in = c.input(0), &q = c.output(0), &l = c.output(1);
  const Stack s = stack_of(in.shape);
  if (s.size() == 0) return;
  const int64_t square = int64_t{s.rows} * s.rows;
  for_matrices(c, s.count, 4.0 * s.rows * static_cast<double>(s.size()), [&]<class T>(int64_t begin, int64_t end) {
    std::vector<T> reflectors(static_cast<size_t>(s.rows));
    lapack::Scratch<T> scratch;
    for (int64_t k = begin; k < end; ++k) {
      T *rows = q.as<T>() + k * s.size(), *lower = l.as<T>() + k * square;
      std::memcpy(rows, in.as<T>() + k * s.size(), static_cast<size_t>(s.size()) * sizeof(T));
      lapack::geqrf(s.columns, s.rows, rows, reflectors.data(), scratch);
      for (int64_t r = 0; r < s.rows; ++r) {
        const T* row = rows + r * s.columns;
        std::copy(row, row + r + 1, lower + r * s.rows);
        std::fill(lower + r * s.rows + r + 1, lower + (r + 1) * s.rows, T{0});
      }
      lapack::orgqr(s.columns, s.rows, rows, reflectors.data(), scratch);
    }
  });
}

// dA = L^-T (dQ + M Q), M being symmetric with the lower triangle of L' dL - dQ Q'.
void lq_back(Gradient& g) {
  const NDArray &q = g.output(0), &l = g.output(1);
  const NDArray dq = head_or_zeros(g, 0), dl = head_or_zeros(g, 1);
  const NDArray inner = call("_linalg_trmm", {l, dl}, {{"transpose", true}}) - products(dq, q, false, true);
  const NDArray moved = dq + products(mirrored(inner, true), q);
  g.set(0, call("_linalg_trsm", {l, moved}, {{"transpose", true}}));
}

}  // namespace

const decltype(factorize_lq) factorize_lq{"factorize_lq", factorize_lq_on_host};

Operators lq_operators() {
  return {general<>({.name = "_linalg_gelqf",
                     .aliases = {"linalg_gelqf"},
                     .python = {"nd.linalg.gelqf", "nd.linalg_gelqf"},
                     .doc = R"(LQ factors of matrices: A = L Q, L being lower triangular and the rows of Q orthonormal.

The matrices (..., m, n), m <= n, are in the last two axes, of float32 or float64. Gives Q (..., m, n), then L (...,
m, m). The signs of L's diagonal are as LAPACK leaves them. Raises MXNetError for other shapes and dtypes.)",
                     .inputs = {"A"},
                     .outputs = 2,
                     .infer = [](Infer& i, const NoAttrs&) { infer_lq(i); },
                     .kernel = [](KernelContext& c, const NoAttrs&) { factorize_lq(c); },
                     .gradient = [](Gradient& g, const NoAttrs&) { lq_back(g); },
                     .saves_inputs = kNothing,
                     .saves_outputs = 3,
                     .samples = {uniform({2, 2, 3}), uniform({3, 3}), uniform({2, 0, 3})}})};
}

}  // namespace headrace
