// np.linalg.norm, and what symbols hold for it.
#include <cmath>

#include "base/check.h"
#include "op/invoke.h"
#include "op/result_dtype.h"
#include "op/spelling.h"
#include "ops/reduce/axes.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

struct NumpyNormAttrs {
  std::optional<std::string> ord = {};
  std::optional<Shape> axis = {};
  bool keepdims = false;
  static constexpr auto kFields =
      fields(field(&NumpyNormAttrs::ord, "ord",
                   "None: root of the sum of squares; a number or inf for vectors; 1, -1, 2, -2, inf, -inf, "
                   "'fro' or 'nuc' for matrices."),
             field(&NumpyNormAttrs::axis, "axis",
                   "An axis: norms of vectors; two axes: norms of matrices; None: of the whole array."),
             field(&NumpyNormAttrs::keepdims, "keepdims", "Keep reduced axes with length 1."));
};

NDArray reduce(const char* op, const NDArray& x, const Shape& axis, bool keepdims) {
  return call(op, {x}, {{"axis", axis}, {"keepdims", keepdims}});
}

NDArray euclidean_norm(const NDArray& x, const Shape& axis, bool keepdims) {
  return call("_euclidean_norm", {x}, {{"axis", axis}, {"keepdims", keepdims}});
}

NDArray vector_norm(const NDArray& x, const std::string& ord, const Shape& axis, bool keepdims) {
  char* end = nullptr;
  const double p = std::strtod(ord.c_str(), &end);
  check(end != ord.c_str() && *end == 0, ErrorKind::kValue,
        "linalg.norm: ord '{}' is not a norm of vectors; use a number, inf, -inf or None", ord);
  if (p == 2) return euclidean_norm(x, axis, keepdims);
  if (p == 0) {
    NDArray nonzero = cast_to(call("_npi_not_equal_scalar", {x}, {{"scalar", 0.0}}), x.dtype());
    return reduce("_np_sum", nonzero, axis, keepdims);
  }
  NDArray size = call("abs", {x});
  if (std::isinf(p)) return reduce(p > 0 ? "_np_max" : "_np_min", size, axis, keepdims);
  if (p == 1) return reduce("_np_sum", size, axis, keepdims);
  NDArray sum = reduce("_np_sum", call("_power_scalar", {size}, {{"scalar", p}}), axis, keepdims);
  return call("_power_scalar", {sum}, {{"scalar", 1 / p}});
}

// The largest or smallest singular value (ord 2, -2), or the sum of all (nuc), of the matrices in two axes.
NDArray norm_by_singular_values(const NDArray& x, const std::string& ord, int64_t row, int64_t column, bool keepdims) {
  const bool tall = x.shape()[static_cast<size_t>(row)] > x.shape()[static_cast<size_t>(column)];
  const NDArray matrices =
      call("_np_moveaxis", {x},
           {{"source", tall ? Shape{column, row} : Shape{row, column}}, {"destination", Shape{-2, -1}}});
  static const OpDef& svd = find_op("_npi_svd");
  const NDArray inputs[] = {item_size(x.dtype()) == 2 ? cast_to(matrices, DType::kFloat32) : matrices};
  const NDArray values = invoke_all(svd, svd.default_attrs, inputs)[1];
  const NDArray norm = cast_to(reduce(ord == "nuc" ? "_np_sum"
                                      : ord == "2" ? "_np_max"
                                                   : "_np_min",
                                      values, {-1}, false),
                               x.dtype());
  if (!keepdims) return norm;
  Shape shape = x.shape();
  shape[static_cast<size_t>(row)] = shape[static_cast<size_t>(column)] = 1;
  return call("_reshape_to", {norm}, {{"shape", shape}});
}

// The one text of a number: "1.0" and "True" are "1".
std::string plain_ord(const std::string& ord) {
  if (ord == "True") return "1";
  char* end = nullptr;
  const double p = std::strtod(ord.c_str(), &end);
  if (end == ord.c_str() || *end != 0) return ord;
  return fmt::format("{}", p);
}

// Axes are not negative.
NDArray matrix_norm(const NDArray& x, const std::string& ord, int64_t row, int64_t column, bool keepdims) {
  if (ord == "fro" || ord == "f") return euclidean_norm(x, {row, column}, keepdims);
  if (ord == "nuc" || ord == "2" || ord == "-2") return norm_by_singular_values(x, ord, row, column, keepdims);
  const bool by_column = ord == "1" || ord == "-1", by_row = ord == "inf" || ord == "-inf";
  check(by_column || by_row, ErrorKind::kValue,
        "linalg.norm: ord '{}' is not a norm of matrices; use 1, -1, 2, -2, inf, -inf, 'fro', 'nuc' or None", ord);
  const int64_t summed = by_column ? row : column, compared = by_column ? column : row;
  NDArray sums = reduce("_np_sum", call("abs", {x}), {summed}, true);
  NDArray extreme = reduce(ord[0] == '-' ? "_np_min" : "_np_max", sums, {compared}, true);
  if (keepdims) return extreme;
  Shape shape = x.shape();
  shape.erase(static_cast<size_t>(std::max(row, column)));
  shape.erase(static_cast<size_t>(std::min(row, column)));
  return call("_reshape_to", {extreme}, {{"shape", shape}});
}

// The norm that `ord` names along one axis or of the matrices in two.
NDArray norm_along(const NDArray& x, const std::string& ord, const Shape& axes, bool keepdims) {
  check(axes.size() == 1 || axes.size() == 2, ErrorKind::kValue,
        "linalg.norm: norms are of one axis or two, got {}; name the axes", to_string(axes));
  if (axes.size() == 1) return vector_norm(x, ord, axes, keepdims);
  check(axes[0] != axes[1], ErrorKind::kValue, "linalg.norm: axis {} is named twice", axes[0]);
  return matrix_norm(x, ord, axes[0], axes[1], keepdims);
}

// --- what symbols hold for it ----------------------------------------------------------------------------------------

// What MXNet's `flag` says of a norm.
enum Flag : int64_t {
  kOfAll = -2,        // the Euclidean norm of all elements
  kByOrd = -1,        // what ord names: of vectors, or of matrices
  kSpectral = 0,      // of matrices, by their singular values
  kFrobenius = 1,     // the Euclidean norm along the axes
  kNuclear = 2,       // the sum of the singular values
  kInfinity = 3,      // ord is inf
  kMinusInfinity = 4  // ord is -inf
};

struct FlaggedNormAttrs {
  double ord = 2;
  std::optional<Shape> axis = {};
  bool keepdims = false;
  int64_t flag = kByOrd;
  static constexpr auto kFields =
      fields(field(&FlaggedNormAttrs::ord, "ord", "Which norm."),
             field(&FlaggedNormAttrs::axis, "axis", "One axis or two; None: the last two, or the only one."),
             field(&FlaggedNormAttrs::keepdims, "keepdims", "Keep reduced axes with length 1."),
             field(&FlaggedNormAttrs::flag, "flag",
                   "-2: Euclidean, of all elements; 1: Euclidean; 2: nuclear; others: what ord names."));
};

Shape norm_axes(const FlaggedNormAttrs& a, int64_t ndim) {
  Shape axes;
  if (a.flag == kOfAll) {
    for (int64_t d = 0; d < ndim; ++d) axes.push_back(d);
  } else if (a.axis) {
    for (int64_t axis : *a.axis) axes.push_back(normalize_axis(axis, ndim, "linalg.norm"));
  } else {
    for (int64_t d = std::max<int64_t>(0, ndim - 2); d < ndim; ++d) axes.push_back(d);
  }
  return axes;
}

OpDef flagged_norm() {
  return general<FlaggedNormAttrs>(
      {.name = "_npi_norm",
       .doc =
           "np.linalg.norm as MXNet's symbols write it. Raises ValueError for an `ord` that is no norm of what `axis` "
           "names.",
       .counted_outputs = always(4),
       .array_names = {.numbers_counted = true},
       .result_dtype = result_dtypes::floating,
       .compose = [](std::span<const NDArray> in, const FlaggedNormAttrs& a) -> std::vector<NDArray> {
         const NDArray x = as_floats(in[0]);
         const Shape axes = norm_axes(a, static_cast<int64_t>(x.ndim()));
         if (a.flag == kOfAll || a.flag == kFrobenius) return {euclidean_norm(x, axes, a.keepdims)};
         return {norm_along(x, a.flag == kNuclear ? "nuc" : fmt::format("{}", a.ord), axes, a.keepdims)};
       },
       .samples = {Sample({uniform({2, 3}, 0.5, 2)}, make_attrs(FlaggedNormAttrs{.flag = kOfAll})),
                   Sample({uniform({2, 3}, 0.5, 2)}, make_attrs(FlaggedNormAttrs{.ord = 3, .axis = Shape{1}}))}});
}

// The largest (or smallest) of the sums of absolute values: the norms 1, -1, inf and -inf of matrices.
Spelling extreme_sum(const Shape& axes, const std::string& ord, bool keepdims) {
  const bool by_column = ord.ends_with('1');
  const Shape summed{axes[by_column ? 0 : 1]}, compared{axes[by_column ? 1 : 0]};
  Spelling sums{"_np_sum", {{"axis", summed}, {"keepdims", true}}, {{"_npi_absolute"}}};
  Spelling extreme{ord[0] == '-' ? "_np_min" : "_np_max", {{"axis", compared}, {"keepdims", true}}, {sums}};
  if (keepdims) return extreme;
  return {"_np_squeeze", {{"axis", axes}}, {extreme}};
}

Spelling spelled_norm(const NumpyNormAttrs& a, size_t) {
  const auto flagged = [&](double ord, Flag flag) {
    return Spelling{
        "_npi_norm",
        {{"ord", ord}, {"axis", or_none(a.axis)}, {"keepdims", a.keepdims}, {"flag", static_cast<int64_t>(flag)}}};
  };
  const size_t named = a.axis ? a.axis->size() : 0;
  if (!a.ord) return flagged(2, a.axis ? kFrobenius : kOfAll);
  const std::string ord = plain_ord(*a.ord);
  char* end = nullptr;
  const double p = std::strtod(ord.c_str(), &end);
  const bool is_number = end != ord.c_str() && *end == 0;
  const bool is_extreme = ord == "1" || ord == "-1" || ord == "inf" || ord == "-inf";
  check(is_number ? named < 2 || is_extreme || p == 2 || p == -2 : named != 1, ErrorKind::kValue,
        "linalg.norm: ord '{}' is not a norm of {}; use 1, -1, 2, -2, inf, -inf, 'fro' or None for matrices, a number "
        "for vectors",
        ord, named == 1 ? "vectors" : "matrices");
  if (named == 2 && is_extreme) return extreme_sum(*a.axis, ord, a.keepdims);
  if (ord == "nuc") return flagged(2, kNuclear);
  if (!is_number) return flagged(2, kFrobenius);
  if (named == 2) return flagged(p, kSpectral);
  if (!std::isinf(p)) return flagged(p, kByOrd);
  if (named == 0) return flagged(p, p > 0 ? kInfinity : kMinusInfinity);
  return {p > 0 ? "_np_max" : "_np_min", {{"axis", *a.axis}, {"keepdims", a.keepdims}}, {{"_npi_absolute"}}};
}

OpDef numpy_norm() {
  return general<NumpyNormAttrs>(
      {.name = "_np_linalg_norm",
       .python = {"np.linalg.norm"},
       .doc = "Norm of vectors or matrices. The gradient of the Euclidean norm at 0 is NaN.\n\n"
              "Raises ValueError for an `ord` that is no norm of what `axis` names.",
       .inputs = {"x"},
       .result_dtype = result_dtypes::floating,
       .compose = [](std::span<const NDArray> in, const NumpyNormAttrs& a) -> std::vector<NDArray> {
         const NDArray x = as_floats(in[0]);
         const auto ndim = static_cast<int64_t>(x.ndim());
         Shape axes;
         if (a.axis)
           for (int64_t axis : *a.axis) axes.push_back(normalize_axis(axis, ndim, "linalg.norm"));
         else
           for (int64_t d = 0; d < ndim; ++d) axes.push_back(d);
         if (!a.ord && (!a.axis || axes.size() <= 2)) return {euclidean_norm(x, axes, a.keepdims)};
         return {norm_along(x, plain_ord(a.ord.value_or("2")), axes, a.keepdims)};
       },
       .spelling = spelled_norm,
       .samples = {uniform({2, 3}, 0.5, 2)}});
}

}  // namespace

Operators linalg_norm_operators() { return {flagged_norm(), numpy_norm()}; }

}  // namespace headrace
