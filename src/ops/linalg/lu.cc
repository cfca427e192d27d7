// What LU factors are good for: inverses, determinants, solutions of linear systems.
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/stacks.h"

namespace headrace {
namespace {

// --- inverses --------------------------------------------------------------------------------------------------------

void infer_inverse(Infer& i) {
  expect_square_matrices(i);
  const Stack s = stack_of(i.shape(0));
  i.output(i.shape(0), i.dtype(0));
  i.cost(stack_cost(s.count, cubed(2, s.rows)));
}

// The transpose of an inverse is the inverse of the transpose, so it does not matter that LAPACK sees transposes.
void invert_on_host(KernelContext& c, bool zeros_of_singular) {
  const Tensor &in = c.input(0), &out = c.output(0);
  const Stack s = stack_of(in.shape);
  if (s.size() == 0) return;
  for_matrices(c, s.count, cubed(2, s.rows), [&]<class T>(int64_t begin, int64_t end) {
    std::vector<int> pivots(static_cast<size_t>(s.rows));
    lapack::Scratch<T> scratch;
    for (int64_t k = begin; k < end; ++k) {
      T* matrix = out.as<T>() + k * s.size();
      std::memcpy(matrix, in.as<T>() + k * s.size(), static_cast<size_t>(s.size()) * sizeof(T));
      const int info = lapack::getrf(s.rows, matrix, pivots.data());
      if (!zeros_of_singular) check_invertible(c.name(), k, info);
      if (info == 0)
        lapack::getri(s.rows, matrix, pivots.data(), scratch);
      else
        std::fill_n(matrix, s.size(), T{0});
    }
  });
}

// B = A^-1: dA = -B' dB B'.
void invert_back(Gradient& g) {
  const NDArray& inverse = g.output();
  g.set(0, scaled(products(inverse, products(g.head(), inverse, false, true), true, false), -1));
}

// Far from singular: a dominant diagonal.
SampleArray regular() { return {{2, 2, 2}, DType::kFloat32, 0, 0, {2, 1, -0.5, 3, -1, 0.25, 1, 4}}; }

OpDef inverse() {
  return general<>({.name = "_linalg_inverse",
                    .aliases = {"linalg_inverse", "_npi_inv"},
                    .python = {"nd.linalg.inverse", "nd.linalg_inverse", "np.linalg.inv"},
                    .doc = R"(Inverses of square matrices.

The matrices (..., n, n) are in the last two axes, of float32 or float64. Raises MXNetError for other shapes and
dtypes and, when the result is waited for, for a singular matrix.)",
                    .inputs = {"A"},
                    .np_inputs = {"a"},
                    .infer = [](Infer& i, const NoAttrs&) { infer_inverse(i); },
                    .kernel = [](KernelContext& c, const NoAttrs&) { invert(c, false); },
                    .gradient = [](Gradient& g, const NoAttrs&) { invert_back(g); },
                    .saves_inputs = kNothing,
                    .saves_outputs = 1,
                    .samples = {uniform({2, 3, 3}), regular()}});
}

OpDef inverse_or_zeros() {
  return general<>({.name = "_inverse_or_zeros",
                    .doc = "Inverses of square matrices, and zeros in the place of singular ones.",
                    .inputs = {"A"},
                    .infer = [](Infer& i, const NoAttrs&) { infer_inverse(i); },
                    .kernel = [](KernelContext& c, const NoAttrs&) { invert(c, true); },
                    .gradient = [](Gradient& g, const NoAttrs&) { invert_back(g); },
                    .saves_inputs = kNothing,
                    .saves_outputs = 1,
                    .samples = {uniform({2, 3, 3}), regular()}});
}

// --- determinants ----------------------------------------------------------------------------------------------------

struct Determinant {
  double sign, log;
};

template <class T>
Determinant determinant_of(T* matrix, int n, std::vector<int>& pivots) {
  lapack::getrf(n, matrix, pivots.data());
  Determinant d{1, 0};
  for (int64_t i = 0; i < n; ++i) {
    const double x = matrix[i * (n + 1)];
    if (pivots[static_cast<size_t>(i)] != i + 1) d.sign = -d.sign;
    d.sign *= std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
    d.log += std::log(std::abs(x));
  }
  return d;
}

void find_determinants_on_host(KernelContext& c) {
  const Tensor& in = c.input(0);
  const Stack s = stack_of(in.shape);
  for_matrices(c, s.count, cubed(2.0 / 3, s.rows), [&]<class T>(int64_t begin, int64_t end) {
    std::vector<T> matrix(static_cast<size_t>(s.size()));
    std::vector<int> pivots(static_cast<size_t>(s.rows));
    for (int64_t k = begin; k < end; ++k) {
      std::copy_n(in.as<const T>() + k * s.size(), s.size(), matrix.begin());
      const auto [sign, log] = determinant_of(matrix.data(), s.rows, pivots);
      const bool is_split = c.output_count() > 1;
      c.output(0).as<T>()[k] = static_cast<T>(is_split ? sign : sign * std::exp(log));
      if (is_split) c.output(1).as<T>()[k] = static_cast<T>(log);
    }
  });
}

void infer_determinants(Infer& i, bool np, size_t outputs) {
  expect_square_matrices(i);
  Shape shape = batch_shape(i.shape(0));
  if (shape.empty() && !np) shape = {1};
  for (size_t k = 0; k < outputs; ++k) i.output(shape, i.dtype(0));
  const Stack s = stack_of(i.shape(0));
  i.cost(stack_cost(s.count, cubed(2.0 / 3, s.rows)));
}

// Gradients of the logarithms: the transposed inverses, each times its number; zeros where there is no inverse.
NDArray times_transposed_inverse(const NDArray& matrices, const NDArray& numbers) {
  Shape shape = batch_shape(matrices.shape());
  shape.push_back(1);
  shape.push_back(1);
  return call("_reshape_to", {numbers}, {{"shape", shape}}) * transposed(call("_inverse_or_zeros", {matrices}));
}

// With `np`, the determinant of one matrix has shape (); otherwise (1,).
OpDef determinant(bool np) {
  return general<>({.name = np ? "_npi_det" : "_linalg_det",
                    .aliases = np ? std::vector<std::string>{} : std::vector<std::string>{"linalg_det"},
                    .python = np ? std::vector<std::string>{"np.linalg.det"}
                                 : std::vector<std::string>{"nd.linalg.det", "nd.linalg_det"},
                    .doc = R"(Determinants of square matrices.

The matrices (..., n, n) are in the last two axes, of float32 or float64. The gradient of a singular matrix is 0.
Raises MXNetError for other shapes and dtypes.)",
                    .inputs = {"A"},
                    .np_inputs = {"a"},
                    .counted_outputs = always(3),
                    .array_names = {.numbers_counted = true},
                    .infer = [np](Infer& i, const NoAttrs&) { infer_determinants(i, np, 1); },
                    .kernel = [](KernelContext& c, const NoAttrs&) { find_determinants(c); },
                    .gradient =
                        [](Gradient& g, const NoAttrs&) {
                          const NDArray numbers = g.head() * g.output();
                          g.set(0, times_transposed_inverse(g.input(0), numbers));
                        },
                    .saves_outputs = 1,
                    .samples = {uniform({2, 3, 3}), uniform({2, 2}), uniform({2, 0, 0})}});
}

OpDef sign_and_log_determinant(bool np) {
  return general<>(
      {.name = np ? "_npi_slogdet" : "_linalg_slogdet",
       .aliases = np ? std::vector<std::string>{} : std::vector<std::string>{"linalg_slogdet"},
       .python = np ? std::vector<std::string>{"np.linalg.slogdet"}
                    : std::vector<std::string>{"nd.linalg.slogdet", "nd.linalg_slogdet"},
       .doc = R"(Signs, and logarithms of the absolute values, of the determinants of square matrices.

The matrices (..., n, n) are in the last two axes, of float32 or float64. A singular matrix has sign 0, logarithm -inf
and gradient 0. Raises MXNetError for other shapes and dtypes.)",
       .inputs = {"A"},
       .np_inputs = {"a"},
       .outputs = 2,
       .counted_outputs = always(4),
       .array_names = {.numbers_counted = true},
       .infer = [np](Infer& i, const NoAttrs&) { infer_determinants(i, np, 2); },
       .kernel = [](KernelContext& c, const NoAttrs&) { find_determinants(c); },
       .gradient = [](Gradient& g,
                      const NoAttrs&) { g.set(0, times_transposed_inverse(g.input(0), head_or_zeros(g, 1))); },
       .samples = {uniform({2, 3, 3}), uniform({2, 2}), uniform({2, 0, 0})}});
}

// --- linear systems --------------------------------------------------------------------------------------------------

// The solutions from LU factors, on several threads where there are many right-hand sides; x is column-major. How many
// of them are solved at once does not depend on the threads, as the last bits do on it.
template <class T>
void substitute(const Stack& s, const T* lu, const int* pivots, T* x) {
  constexpr int64_t kColumns = 128;
  const double flops = 2.0 * s.rows * static_cast<double>(s.size());
  parallel_for((s.columns + kColumns - 1) / kColumns, 1, stack_cost(1, flops), [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * kColumns; first < std::min<int64_t>(s.columns, end * kColumns); first += kColumns)
      lapack::getrs(s.rows, static_cast<int>(std::min(kColumns, s.columns - first)), lu, pivots, x + first * s.rows);
  });
}

// Matrices A (..., n, n) and B (..., n, k) of one dtype.
void solve_systems_on_host(KernelContext& c) {
  const Tensor &a = c.input(0), &b = c.input(1), &out = c.output(0);
  const Stack s = stack_of(b.shape);
  if (s.size() == 0) return;
  const int64_t square = int64_t{s.rows} * s.rows;
  const double flops = cubed(2.0 / 3, s.rows) + 2.0 * s.rows * static_cast<double>(s.size());
  for_matrices(c, s.count, flops, [&]<class T>(int64_t begin, int64_t end) {
    std::vector<T> lu(static_cast<size_t>(square)), x(static_cast<size_t>(s.size()));
    std::vector<int> pivots(static_cast<size_t>(s.rows));
    for (int64_t k = begin; k < end; ++k) {
      transpose_into(lu.data(), a.as<const T>() + k * square, s.rows, s.rows);
      check_solvable(c.name(), k, lapack::getrf(s.rows, lu.data(), pivots.data()));
      transpose_into(x.data(), b.as<const T>() + k * s.size(), s.rows, s.columns);
      substitute(s, lu.data(), pivots.data(), x.data());
      transpose_into(out.as<T>() + k * s.size(), x.data(), s.columns, s.rows);
    }
  });
}

void infer_solve(Infer& i) {
  expect_square_matrices(i, 0);
  expect_matrices(i, 1);
  expect_one_dtype(i);
  const Shape &a = i.shape(0), &b = i.shape(1);
  i.require(a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin()), ErrorKind::kRuntime,
            "matrices of shape {} need right-hand sides with the same extents but the last, got shape {}", to_string(a),
            to_string(b));
  const Stack s = stack_of(b);
  i.output(b, i.dtype(0));
  i.cost(stack_cost(s.count, cubed(2.0 / 3, s.rows) + 2.0 * s.rows * static_cast<double>(s.size())));
}

OpDef solve_matrices() {
  return general<>({.name = "_solve_matrices",
                    .doc = "The X of A X = B for matrices in the last two axes, of one dtype.",
                    .inputs = {"a", "b"},
                    .infer = [](Infer& i, const NoAttrs&) { infer_solve(i); },
                    .kernel = [](KernelContext& c, const NoAttrs&) { solve_systems(c); },
                    .gradient =
                        [](Gradient& g, const NoAttrs&) {
                          const NDArray right = call(g.op(), g.attrs(), {transposed(g.input(0)), g.head()});
                          if (g.wants(0)) g.set(0, scaled(products(right, g.output(), false, true), -1));
                          if (g.wants(1)) g.set(1, right);
                        },
                    .saves_inputs = 1,
                    .saves_outputs = 1,
                    .samples = {std::vector{uniform({2, 3, 3}), uniform({2, 3, 2})}}});
}

OpDef np_solve() {
  return general<>({.name = "_npi_solve",
                    .python = {"np.linalg.solve"},
                    .doc = R"(The solutions x of linear systems a x = b.

Shapes (..., n, n) and (..., n, k), or (..., n), give the shape of b. The result is float32 when both are, otherwise
float64. Raises MXNetError for other shapes, for float16 and, when the result is waited for, for a singular matrix.)",
                    .inputs = {"A", "B"},
                    .np_inputs = {"a", "b"},
                    .result_dtype = real_result,
                    .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
                      const DType dtype = common_real("linalg.solve", in);
                      const NDArray a = cast_to(in[0], dtype), b = cast_to(in[1], dtype);
                      if (b.ndim() + 1 != a.ndim()) return {call("_solve_matrices", {a, b})};
                      const NDArray column = call("expand_dims", {b}, {{"axis", int64_t{-1}}});
                      return {call("_reshape_to", {call("_solve_matrices", {a, column})}, {{"shape", b.shape()}})};
                    },
                    .samples = {std::vector{regular(), uniform({2, 2, 3})}, std::vector{regular(), uniform({2, 2})}}});
}

}  // namespace

void check_invertible(std::string_view op, int64_t matrix, int info) {
  check(info == 0, ErrorKind::kRuntime, "{}: matrix {} is singular and has no inverse", op, matrix);
}

void check_solvable(std::string_view op, int64_t matrix, int info) {
  check(info == 0, ErrorKind::kRuntime, "{}: matrix {} is singular, its equations have no one solution", op, matrix);
}

const decltype(invert) invert{"invert", invert_on_host};
const decltype(find_determinants) find_determinants{"find_determinants", find_determinants_on_host};
const decltype(solve_systems) solve_systems{"solve_systems", solve_systems_on_host};

Operators lu_operators() {
  return {inverse(),
          inverse_or_zeros(),
          determinant(false),
          determinant(true),
          sign_and_log_determinant(false),
          sign_and_log_determinant(true),
          solve_matrices(),
          np_solve()};
}

}  // namespace headrace
