// Eigenvalues and eigenvectors: of symmetric matrices, and of others as long as they are real.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/stacks.h"

namespace headrace {
namespace {

constexpr double kFlops = 10;  // of n cubed, about

// The element of a vector that is farthest from 0, the first of several, becomes positive. No element is NaN.
template <class T>
void choose_sign(T* vector, int n) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;  // ordered as the magnitudes are
  const auto magnitude = [&](int i) { return std::bit_cast<Bits>(std::abs(vector[i])); };
  Bits most = 0;
  for (int i = 0; i < n; ++i) most = std::max(most, magnitude(i));
  int farthest = 0;
  while (farthest < n && magnitude(farthest) != most) ++farthest;
  if (farthest < n && vector[farthest] < 0)
    for (int i = 0; i < n; ++i) vector[i] = -vector[i];
}

void infer_eigen(Infer& i, bool vectors_first) {
  expect_square_matrices(i);
  const Shape& shape = i.shape(0);
  const Shape values(shape.begin(), shape.end() - 1);
  i.output(vectors_first ? shape : values, i.dtype(0));
  i.output(vectors_first ? values : shape, i.dtype(0));
  const Stack s = stack_of(shape);
  i.cost(stack_cost(s.count, cubed(kFlops, s.rows)));
}

// --- symmetric matrices ----------------------------------------------------------------------------------------------

// The eigenvectors that LAPACK leaves in columns are rows here.
void decompose_symmetric_on_host(KernelContext& c) {
  const Tensor &in = c.input(0), &vectors = c.output(0), &values = c.output(1);
  const Stack s = stack_of(in.shape);
  if (s.size() == 0) return;
  for_matrices(c, s.count, cubed(kFlops, s.rows), [&]<class T>(int64_t begin, int64_t end) {
    lapack::Scratch<T> scratch;
    for (int64_t k = begin; k < end; ++k) {
      T *u = vectors.as<T>() + k * s.size(), *l = values.as<T>() + k * s.rows;
      std::memcpy(u, in.as<T>() + k * s.size(), static_cast<size_t>(s.size()) * sizeof(T));
      if (!all_finite(u, s.size())) {
        std::fill_n(u, s.size(), std::numeric_limits<T>::quiet_NaN());
        std::fill_n(l, s.rows, std::numeric_limits<T>::quiet_NaN());
        continue;
      }
      check_eigenvalues(c.name(), k, lapack::syevd(true, lapack::Triangle::kUpper, s.rows, u, l, scratch));
      for (int64_t r = 0; r < s.rows; ++r) choose_sign(u + r * s.rows, s.rows);
    }
  });
}

// dA = U' Y U, Y being symmetric: dL on the diagonal, (X_ij - X_ji) / (2 (L_i - L_j)) below it, X = dU U'.
void symmetric_back(Gradient& g) {
  const NDArray &u = g.output(0), &l = g.output(1);
  NDArray inner;
  if (g.has_head(1)) inner = call("_linalg_makediag", {g.head(1)});
  if (g.has_head(0)) {
    const NDArray turned = mirrored_difference(products(g.head(0), u, false, true), true);
    const NDArray beside = scaled(turned / gaps_between(l), 0.5);
    inner = inner ? inner + beside : beside;
  }
  g.set(0, products(products(u, inner, true), u));
}

OpDef syevd() {
  return general<>({.name = "_linalg_syevd",
                    .python = {"nd.linalg.syevd"},
                    .doc = R"(Eigenvectors and eigenvalues of symmetric matrices: A = U' diag(L) U.

The matrices (..., n, n) are in the last two axes, of float32 or float64; of each, only the lower triangle is read.
Gives U (..., n, n), whose rows are the eigenvectors, and L (..., n), in ascending order. In each row the element that
is farthest from 0 is positive. Matrices with NaN or infinite elements give NaN. The gradient is that of symmetric
matrices, and needs eigenvalues that differ where it comes from U. Raises MXNetError for other shapes and dtypes.)",
                    .inputs = {"A"},
                    .outputs = 2,
                    .infer = [](Infer& i, const NoAttrs&) { infer_eigen(i, true); },
                    .kernel = [](KernelContext& c, const NoAttrs&) { decompose_symmetric(c); },
                    .gradient = [](Gradient& g, const NoAttrs&) { symmetric_back(g); },
                    .own_gradient = true,
                    .saves_inputs = kNothing,
                    .saves_outputs = 3,
                    .samples = {uniform({2, 3, 3}), uniform({2, 0, 0})}});
}

struct UploAttrs {
  std::string UPLO = "L";
  static constexpr auto kFields =
      fields(field(&UploAttrs::UPLO, "UPLO", "Which triangle is read: the lower or the upper one.").one_of("L|U"));
};

// U and L of syevd for the triangle that `a` names.
std::vector<NDArray> decomposed(const char* name, const NDArray& array, const UploAttrs& a) {
  const NDArray matrices = cast_to(array, common_real(name, {&array, 1}));
  check(matrices.ndim() >= 2, ErrorKind::kRuntime, "{}: matrices are needed, in at least two dimensions, got shape {}",
        name, to_string(matrices.shape()));
  static const OpDef& op = find_op("_linalg_syevd");
  const NDArray inputs[] = {a.UPLO == "U" ? transposed(matrices) : matrices};
  return invoke_all(op, op.default_attrs, inputs);
}

OpDef eigh() {
  return general<UploAttrs>(
      {.name = "_npi_eigh",
       .doc = R"(Eigenvalues and eigenvectors of symmetric matrices.

The matrices (..., n, n) are in the last two axes; of each, only the triangle that UPLO names is read. Gives the
eigenvalues (..., n), in ascending order, and the eigenvectors as the columns of (..., n, n); in each the element that
is farthest from 0 is positive. Results are float32 for float32, otherwise float64. The gradient is that of symmetric
matrices. Raises MXNetError for other shapes and for float16.)",
       .inputs = {"A"},
       .np_inputs = {"a"},
       .outputs = 2,
       .result_dtype = real_result,
       .compose = [](std::span<const NDArray> in, const UploAttrs& a) -> std::vector<NDArray> {
         const std::vector<NDArray> found = decomposed("linalg.eigh", in[0], a);
         return {found[1], transposed(found[0])};
       },
       .own_gradient = true,
       .samples = {uniform({2, 3, 3}), Sample({uniform({3, 3})}, make_attrs(UploAttrs{.UPLO = "U"}))}});
}

OpDef eigvalsh() {
  return general<UploAttrs>(
      {.name = "_npi_eigvalsh",
       .python = {"np.linalg.eigvalsh"},
       .doc = R"(Eigenvalues of symmetric matrices, in ascending order.

The matrices (..., n, n) are in the last two axes; of each, only the triangle that UPLO names is read. Results are
float32 for float32, otherwise float64. The gradient is that of symmetric matrices. Raises MXNetError for other shapes
and for float16.)",
       .inputs = {"A"},
       .np_inputs = {"a"},
       .result_dtype = real_result,
       .compose = [](std::span<const NDArray> in, const UploAttrs& a) -> std::vector<NDArray> {
         return {decomposed("linalg.eigvalsh", in[0], a)[1]};
       },
       .own_gradient = true,
       .samples = {uniform({2, 3, 3}), Sample({uniform({3, 3})}, make_attrs(UploAttrs{.UPLO = "U"}))}});
}

// --- other matrices --------------------------------------------------------------------------------------------------

// Eigenvalues go into output 0, eigenvectors, as columns, into output 1, where there is one.
void decompose_any(KernelContext& c) {
  const Tensor& in = c.input(0);
  const Stack s = stack_of(in.shape);
  if (s.size() == 0) return;
  const bool wants_vectors = c.output_count() > 1;
  for_matrices(c, s.count, cubed(2 * kFlops, s.rows), [&]<class T>(int64_t begin, int64_t end) {
    std::vector<T> matrix(static_cast<size_t>(s.size())), imaginary(static_cast<size_t>(s.rows)),
        vectors(static_cast<size_t>(wants_vectors ? s.size() : 0));
    lapack::Scratch<T> scratch;
    for (int64_t k = begin; k < end; ++k) {
      transpose_into(matrix.data(), in.as<const T>() + k * s.size(), s.rows, s.rows);
      check(all_finite(matrix.data(), s.size()), ErrorKind::kRuntime, "{}: matrix {} has NaN or infinite elements",
            c.name(), k);
      const int left = lapack::geev(s.rows, matrix.data(), c.output(0).as<T>() + k * s.rows, imaginary.data(),
                                    wants_vectors ? vectors.data() : nullptr, scratch);
      check_eigenvalues(c.name(), k, left);
      check(std::all_of(imaginary.begin(), imaginary.end(), [](T x) { return x == T{0}; }), ErrorKind::kRuntime,
            "{}: matrix {} has complex eigenvalues, and there are no complex arrays", c.name(), k);
      if (wants_vectors) transpose_into(c.output(1).as<T>() + k * s.size(), vectors.data(), s.rows, s.rows);
    }
  });
}

// Eigenvalues 1, 2 and 4.
SampleArray real_eigenvalues() { return {{3, 3}, DType::kFloat32, 0, 0, {1, 2, 3, 0, 2, 5, 0, 0, 4}}; }

OpDef eigen_of_any() {
  return general<>(
      {.name = "_eigen",
       .doc = "Eigenvalues (..., n) and eigenvectors, as columns, of matrices (..., n, n) of real numbers.",
       .inputs = {"A"},
       .outputs = 2,
       .infer = [](Infer& i, const NoAttrs&) { infer_eigen(i, false); },
       .kernel = [](KernelContext& c, const NoAttrs&) { decompose_any(c); },
       .zero_gradient = true,
       .samples = {real_eigenvalues()}});
}

OpDef eigenvalues_of_any() {
  return general<>({.name = "_eigenvalues",
                    .doc = "Eigenvalues (..., n) of matrices (..., n, n) of real numbers.",
                    .inputs = {"A"},
                    .infer =
                        [](Infer& i, const NoAttrs&) {
                          expect_square_matrices(i);
                          const Shape& shape = i.shape(0);
                          const Stack s = stack_of(shape);
                          i.output(Shape(shape.begin(), shape.end() - 1), i.dtype(0));
                          i.cost(stack_cost(s.count, cubed(kFlops, s.rows)));
                        },
                    .kernel = [](KernelContext& c, const NoAttrs&) { decompose_any(c); },
                    .zero_gradient = true,
                    .samples = {real_eigenvalues()}});
}

OpDef eig() {
  return general<>({.name = "_npi_eig",
                    .doc = R"(Eigenvalues and eigenvectors of square matrices whose eigenvalues are real.

The matrices (..., n, n) are in the last two axes. Gives the eigenvalues (..., n), in no special order, and the
eigenvectors, of length 1, as the columns of (..., n, n). Results are float32 for float32, otherwise float64. The
gradient is 0. Raises MXNetError for other shapes, for float16 and, when a result is waited for, for eigenvalues that
are complex and for elements that are NaN or infinite.)",
                    .inputs = {"A"},
                    .np_inputs = {"a"},
                    .outputs = 2,
                    .result_dtype = real_result,
                    .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
                      static const OpDef& op = find_op("_eigen");
                      const NDArray inputs[] = {cast_to(in[0], common_real("linalg.eig", in))};
                      return invoke_all(op, op.default_attrs, inputs);
                    },
                    .zero_gradient = true,
                    .samples = {real_eigenvalues()}});
}

OpDef eigvals() {
  return general<>({.name = "_npi_eigvals",
                    .python = {"np.linalg.eigvals"},
                    .doc = R"(Eigenvalues of square matrices whose eigenvalues are real, in no special order.

The matrices (..., n, n) are in the last two axes. Results are float32 for float32, otherwise float64. The gradient is
0. Raises MXNetError for other shapes, for float16 and, when the result is waited for, for eigenvalues that are
complex and for elements that are NaN or infinite.)",
                    .inputs = {"A"},
                    .np_inputs = {"a"},
                    .result_dtype = real_result,
                    .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
                      return {call("_eigenvalues", {cast_to(in[0], common_real("linalg.eigvals", in))})};
                    },
                    .zero_gradient = true,
                    .samples = {real_eigenvalues()}});
}

}  // namespace

void check_eigenvalues(std::string_view op, int64_t matrix, int info) {
  check(info == 0, ErrorKind::kRuntime, "{}: the eigenvalues of matrix {} did not converge", op, matrix);
}

const decltype(decompose_symmetric) decompose_symmetric{"decompose_symmetric", decompose_symmetric_on_host};

Operators eigen_operators() {
  return {syevd(), eigh(), eigvalsh(), eigen_of_any(), eigenvalues_of_any(), eig(), eigvals()};
}

}  // namespace headrace
