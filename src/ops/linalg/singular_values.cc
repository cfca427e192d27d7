// Singular values and vectors, and pseudo-inverses from them.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/stacks.h"

namespace headrace {
namespace {

double flops_of(const Stack& s) { return 20.0 * s.rows * static_cast<double>(s.size()); }

void infer_singular(Infer& i) {
  expect_matrices(i);
  const Shape& shape = i.shape(0);
  const Stack s = stack_of(shape);
  i.require(s.rows <= s.columns, ErrorKind::kRuntime,
            "matrices may not have more rows than columns, got shape {}; give the transposed ones", to_string(shape));
  Shape values = shape, square = shape;
  values.pop_back();
  square.back() = s.rows;
  i.output(square, i.dtype(0));
  i.output(values, i.dtype(0));
  i.output(shape, i.dtype(0));
  i.cost(stack_cost(s.count, flops_of(s)));
}

// The element of each row of V that is farthest from 0, the first of several, becomes positive; the column of U that
// belongs to the row turns with it.
template <class T>
void choose_signs(T* u, T* v, const Stack& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    T* row = v + r * s.columns;
    const T* farthest = std::max_element(row, row + s.columns, [](T a, T b) { return std::abs(a) < std::abs(b); });
    if (*farthest >= 0) continue;
    for (int64_t k = 0; k < s.columns; ++k) row[k] = -row[k];
    for (int64_t k = 0; k < s.rows; ++k) u[k * s.rows + r] = -u[k * s.rows + r];
  }
}

// A = U diag(L) V. LAPACK sees A' = V' diag(L) U', whose left vectors, in columns, are the rows of V.
void decompose_singular_on_host(KernelContext& c) {
  const Tensor& in = c.input(0);
  const Stack s = stack_of(in.shape);
  if (s.size() == 0) return;
  const int64_t square = int64_t{s.rows} * s.rows;
  for_matrices(c, s.count, flops_of(s), [&]<class T>(int64_t begin, int64_t end) {
    lapack::Scratch<T> scratch;
    for (int64_t k = begin; k < end; ++k) {
      T *u = c.output(0).as<T>() + k * square, *l = c.output(1).as<T>() + k * s.rows,
        *v = c.output(2).as<T>() + k * s.size();
      std::memcpy(v, in.as<T>() + k * s.size(), static_cast<size_t>(s.size()) * sizeof(T));
      if (!all_finite(v, s.size())) {
        constexpr T kNone = std::numeric_limits<T>::quiet_NaN();
        std::fill_n(u, square, kNone);
        std::fill_n(l, s.rows, kNone);
        std::fill_n(v, s.size(), kNone);
        continue;
      }
      check_singular_values(c.name(), k, lapack::gesdd(s.columns, s.rows, v, l, u, scratch));
      choose_signs(u, v, s);
    }
  });
}

NDArray on_new_axis(const NDArray& array, int64_t axis) { return call("expand_dims", {array}, {{"axis", axis}}); }

// The gradient that comes from U and V, between U and V: L^-1 dV and dU' U meet in the plane of each pair of vectors.
// With G = L^-1 dV and X = G V' diag(L) + dU' U, the pair i < j has E_ij = (X_ij - X_ji) / ((L_i - L_j) (L_i + L_j)),
// the same for (j, i); dA = U ((E diag(L) + diag(dL) - diag(G V')) V + G).
void singular_back(Gradient& g) {
  const NDArray &u = g.output(0), &l = g.output(1), &v = g.output(2);
  if (v.size() == 0) return g.set(0, zeros_like(v));
  NDArray diagonal = g.has_head(1) ? g.head(1) : NDArray();
  if (!g.has_head(0) && !g.has_head(2)) return g.set(0, products(u * on_new_axis(diagonal, -2), v));
  const double least = l.dtype() == DType::kFloat32 ? 1e-30 : 1e-100;
  const NDArray safe = call("_maximum_scalar", {l}, {{"scalar", least}}), row = on_new_axis(l, -2);
  const NDArray along = head_or_zeros(g, 2) / on_new_axis(safe, -1);
  const NDArray met = products(along, v, false, true);
  NDArray plane = met * row;
  if (g.has_head(0)) plane = plane + products(g.head(0), u, true);
  const NDArray sums = on_new_axis(safe, -1) + on_new_axis(safe, -2);
  const NDArray pairs = mirrored_difference(plane, false) / gaps_between(l) / sums;
  const NDArray lost = call("_linalg_extractdiag", {met});
  const NDArray kept = diagonal ? diagonal - lost : scaled(lost, -1);
  const NDArray inner = pairs * row + call("_linalg_makediag", {kept});
  g.set(0, products(u, products(inner, v) + along));
}

OpDef svd() {
  return general<>({.name = "_npi_svd",
                    .doc = R"(Singular values and vectors of matrices: A = U diag(L) V.

The matrices (..., m, n), m <= n, are in the last two axes, of float32 or float64. Gives U (..., m, m), L (..., m), in
descending order, and V (..., m, n). In each row of V the element that is farthest from 0 is positive. Matrices with
NaN or infinite elements give NaN. The gradient needs singular values that differ, and are not 0, where it comes from
U or V. Raises MXNetError for other shapes and dtypes.)",
                    .inputs = {"A"},
                    .np_inputs = {"a"},
                    .outputs = 3,
                    .infer = [](Infer& i, const NoAttrs&) { infer_singular(i); },
                    .kernel = [](KernelContext& c, const NoAttrs&) { decompose_singular(c); },
                    .gradient = [](Gradient& g, const NoAttrs&) { singular_back(g); },
                    .saves_inputs = kNothing,
                    .saves_outputs = 7,
                    .samples = {uniform({2, 2, 3}), uniform({3, 3}), uniform({2, 0, 3})}});
}

// --- pseudo-inverses -------------------------------------------------------------------------------------------------

struct PinvAttrs {
  bool hermitian = false;
  static constexpr auto kFields =
      fields(field(&PinvAttrs::hermitian, "hermitian", "Of no effect: all matrices are taken for general ones."));
};

struct PinvScalarAttrs {
  double rcond = 1e-15;
  bool hermitian = false;
  static constexpr auto kFields = fields(
      field(&PinvScalarAttrs::rcond, "rcond", "Singular values up to this share of the largest one are taken for 0."),
      field(&PinvScalarAttrs::hermitian, "hermitian", "Of no effect: all matrices are taken for general ones."));
};

// cutoff(largest singular values (..., 1)) gives what singular values must exceed.
NDArray pseudo_inverse(const NDArray& array, const std::function<NDArray(const NDArray& largest)>& cutoff) {
  const NDArray matrices = cast_to(array, common_real("linalg.pinv", {&array, 1}));
  const Shape& shape = matrices.shape();
  check(shape.size() >= 2, ErrorKind::kRuntime,
        "linalg.pinv: matrices are needed, in at least two dimensions, got shape {}", to_string(shape));
  if (matrices.size() == 0) return transposed(matrices);
  const bool tall = shape[shape.size() - 2] > shape.back();
  static const OpDef& op = find_op("_npi_svd");
  const NDArray inputs[] = {tall ? transposed(matrices) : matrices};
  const std::vector<NDArray> parts = invoke_all(op, op.default_attrs, inputs);
  const NDArray &u = parts[0], &l = parts[1], &v = parts[2];
  const NDArray largest = call("max", {l}, {{"axis", Shape{-1}}, {"keepdims", true}});
  const NDArray is_large = call("broadcast_greater", {l, cutoff(largest)});
  // Where values count for 0, 1 is divided by 1 and not used.
  const NDArray inverses =
      call("where", {is_large, call("reciprocal", {call("where", {is_large, l, ones_like(l)})}), zeros_like(l)});
  const NDArray scaled_u = u * on_new_axis(inverses, -2);
  return tall ? products(scaled_u, v) : products(v, scaled_u, true, true);
}

// What is smaller, as a share of the largest singular value, comes of rounding.
double least_share(DType dtype) {
  return dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
}

const char* const kPinvDoc = R"(Moore-Penrose pseudo-inverses of matrices, by their singular values.

Shapes (..., m, n) give (..., n, m). Results are float32 for float32, otherwise float64. Singular values below the
precision of that dtype are always taken for 0. The gradient needs matrices of full rank. Raises MXNetError for other
shapes and for float16.)";

OpDef pinv_scalar() {
  return general<PinvScalarAttrs>(
      {.name = "_npi_pinv_scalar_rcond",
       .doc = kPinvDoc,
       .inputs = {"A"},
       .result_dtype = real_result,
       .compose = [](std::span<const NDArray> in, const PinvScalarAttrs& a) -> std::vector<NDArray> {
         return {pseudo_inverse(in[0], [&](const NDArray& largest) {
           return scaled(largest, std::max(a.rcond, least_share(largest.dtype())));
         })};
       },
       .samples = {uniform({2, 2, 3}), uniform({3, 2})}});
}

OpDef pinv() {
  return general<PinvAttrs>(
      {.name = "_npi_pinv",
       .doc = kPinvDoc,
       .inputs = {"A", "rcond"},
       .result_dtype = real_result,
       .compose = [](std::span<const NDArray> in, const PinvAttrs&) -> std::vector<NDArray> {
         return {pseudo_inverse(in[0], [&](const NDArray& largest) {
           const DType dtype = largest.dtype();
           const NDArray share = call("_maximum_scalar", {cast_to(in[1], dtype)}, {{"scalar", least_share(dtype)}});
           return largest * on_new_axis(share, -1);
         })};
       },
       .samples = {std::vector{uniform({2, 2, 3}), uniform({2}, 0, 0.01)}}});
}

}  // namespace

void check_singular_values(std::string_view op, int64_t matrix, int info) {
  check(info == 0, ErrorKind::kRuntime, "{}: the singular values of matrix {} did not converge", op, matrix);
}

const decltype(decompose_singular) decompose_singular{"decompose_singular", decompose_singular_on_host};

Operators singular_value_operators() { return {svd(), pinv_scalar(), pinv()}; }

}  // namespace headrace
