// Norms of vectors and matrices, and sums of squares.
#include <cmath>

#include "ops/families.h"
#include "ops/reduce/reduce.h"

namespace headrace {
namespace {

const Reduction& absolute_sum() {
  static const Reduction reduction(Combine::kSum, [](Expr x) { return abs(x); });
  return reduction;
}
const Reduction& euclidean() {
  static const Reduction reduction(
      Combine::kSum, [](Expr x) { return square(x); }, [](Expr sum, Expr) { return sqrt(sum); });
  return reduction;
}
std::shared_ptr<const Reduction> square_sum_reduction() {
  return std::make_shared<const Reduction>(Combine::kSum, [](Expr x) { return square(x); });
}

struct NormAttrs {
  int64_t ord = 2;
  std::optional<Shape> axis = {};
  std::optional<DType> out_dtype = {};
  bool keepdims = false;
  static constexpr auto kFields =
      fields(field(&NormAttrs::ord, "ord", "1: sum of absolute values; 2: root of the sum of squares."),
             field(&NormAttrs::axis, "axis", "Axis or axes; None or () means all."),
             field(&NormAttrs::out_dtype, "out_dtype", "dtype of the result; None: that of the input."),
             field(&NormAttrs::keepdims, "keepdims", "Keep reduced axes with length 1."));
  AxisSet axes(const char* op, size_t ndim) const { return legacy_axes(op, axis, false, ndim); }
  std::optional<double> start() const { return {}; }
};

const Reduction& reduction_of(const NormAttrs& a) { return a.ord == 1 ? absolute_sum() : euclidean(); }

OpDef norm() {
  OpDef op = general<NormAttrs>(
      {.name = "norm",
       .python = {"nd.norm", "NDArray.norm"},
       .doc = "Norm of the vectors along `axis` (an integer, a tuple, or None for all elements: shape (1,)). The "
              "gradient of "
              "the Euclidean norm at 0 is NaN.\n\n"
              "Raises ValueError for an `ord` other than 1 and 2 or an axis out of range.",
       .infer =
           [](Infer& i, const NormAttrs& a) {
             i.require(a.ord == 1 || a.ord == 2, ErrorKind::kValue, "ord must be 1 or 2, got {}", a.ord);
             const Shape result = without_axes(i.shape(0), a.axes(i.name(), i.shape(0).size()), a.keepdims);
             i.output(legacy_shape(result), a.out_dtype.value_or(i.dtype(0)));
             i.cost(streaming_cost(i));
           },
       .kernel =
           [](KernelContext& c, const NormAttrs& a) {
             reduction_of(a).run(c, c.input(0), a.axes(c.name(), c.input(0).shape.size()), c.output(0));
           },
       .gradient =
           [](Gradient& g, const NormAttrs& a) {
             elementwise_gradient<NormAttrs>(a.ord == 1 ? "_norm1_gradient" : "_norm2_gradient")(g, a);
           },
       .saves_outputs = 1,
       .strided_inputs = true,
       .samples = {uniform({2, 3, 4}, 0.5, 2),
                   Sample({uniform({2, 3}, 0.5, 2)}, make_attrs(NormAttrs{.ord = 1, .axis = Shape{1}}))}});
  allow_surroundings<NormAttrs>(op, reduction_of);
  return op;
}

OpDef square_sum(const char* name) {
  return reduction_operator<LegacyReduceAttrs>(
      square_sum_reduction(), keeps_dtype<LegacyReduceAttrs>,
      {.name = name,
       .doc = "Sum of squares along `axis`. Raises ValueError for an axis out of range.",
       .gradient = elementwise_gradient<LegacyReduceAttrs>("_square_sum_gradient"),
       .saves_outputs = 1,
       .samples = {uniform({2, 3, 4})}});
}

struct MultiSumSqAttrs {
  int64_t num_arrays = 1;
  static constexpr auto kFields =
      fields(field(&MultiSumSqAttrs::num_arrays, "num_arrays", "Number of arrays.").required());
};

OpDef multi_sum_sq() {
  return general<MultiSumSqAttrs>(
      {.name = "multi_sum_sq",
       .python = {"nd.multi_sum_sq"},
       .doc = "Sum of squares of each array, as one float32 array of shape (num_arrays,). Raises ValueError unless "
              "num_arrays arrays are given.",
       .variadic = true,
       .infer =
           [](Infer& i, const MultiSumSqAttrs& a) {
             i.require(static_cast<int64_t>(i.input_count()) == a.num_arrays, ErrorKind::kValue,
                       "expected num_arrays={} arrays, got {}", a.num_arrays, i.input_count());
             i.output({a.num_arrays}, DType::kFloat32);
           },
       .kernel =
           [](KernelContext& c, const MultiSumSqAttrs&) {
             static const Reduction reduction(Combine::kSum, [](Expr x) { return square(x); });
             const Shape one{};
             const Strides none{};
             for (size_t i = 0; i < c.input_count(); ++i) {
               const Tensor result{c.output(0).as<float>() + i, DType::kFloat32, one, none, 1};
               reduction.run(c, c.input(i), all_axes(c.input(i).shape.size()), result);
             }
           },
       .zero_gradient = true,
       .samples = {Sample({uniform({3}), uniform({2, 2})}, make_attrs(MultiSumSqAttrs{.num_arrays = 2}))}});
}

// --- np.linalg.norm --------------------------------------------------------------------------------------------------

struct NumpyNormAttrs {
  std::optional<std::string> ord = {};
  std::optional<Shape> axis = {};
  bool keepdims = false;
  static constexpr auto kFields =
      fields(field(&NumpyNormAttrs::ord, "ord",
                   "None: root of the sum of squares; a number or inf for vectors; 1, -1, inf, -inf or "
                   "'fro' for matrices."),
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

// Axes are not negative.
NDArray matrix_norm(const NDArray& x, const std::string& ord, int64_t row, int64_t column, bool keepdims) {
  if (ord == "fro" || ord == "f") return euclidean_norm(x, {row, column}, keepdims);
  check(ord != "nuc" && ord != "2" && ord != "-2", ErrorKind::kNotImplemented,
        "linalg.norm: ord {} of matrices needs singular values, which are not there yet; use 1, -1, inf, -inf or 'fro'",
        ord);
  const bool by_column = ord == "1" || ord == "-1", by_row = ord == "inf" || ord == "-inf";
  check(by_column || by_row, ErrorKind::kValue,
        "linalg.norm: ord '{}' is not a norm of matrices; use 1, -1, inf, -inf, 'fro' or None", ord);
  const int64_t summed = by_column ? row : column, compared = by_column ? column : row;
  NDArray sums = reduce("_np_sum", call("abs", {x}), {summed}, true);
  NDArray extreme = reduce(ord[0] == '-' ? "_np_min" : "_np_max", sums, {compared}, true);
  if (keepdims) return extreme;
  Shape shape = x.shape();
  shape.erase(static_cast<size_t>(std::max(row, column)));
  shape.erase(static_cast<size_t>(std::min(row, column)));
  return call("_reshape_to", {extreme}, {{"shape", shape}});
}

OpDef numpy_norm() {
  return general<NumpyNormAttrs>(
      {.name = "_npi_norm",
       .python = {"np.linalg.norm"},
       .doc =
           "Norm of vectors or matrices. The gradient of the Euclidean norm at 0 is NaN.\n\n"
           "Raises ValueError for an `ord` that is no norm of what `axis` names, and NotImplementedError for norms of "
           "matrices by singular values.",
       .inputs = {"x"},
       .compose = [](std::span<const NDArray> in, const NumpyNormAttrs& a) -> std::vector<NDArray> {
         NDArray x = is_floating(in[0].dtype()) ? in[0] : cast_to(in[0], DType::kFloat32);
         const auto ndim = static_cast<int64_t>(x.ndim());
         Shape axes;
         if (a.axis)
           for (int64_t axis : *a.axis) axes.push_back(normalize_axis(axis, ndim, "linalg.norm"));
         else
           for (int64_t d = 0; d < ndim; ++d) axes.push_back(d);
         if (!a.ord && (!a.axis || axes.size() <= 2)) return {euclidean_norm(x, axes, a.keepdims)};
         const std::string ord = a.ord.value_or("2");
         check(axes.size() == 1 || axes.size() == 2, ErrorKind::kValue,
               "linalg.norm: norms are of one axis or two, got {}; name the axes", to_string(axes));
         if (axes.size() == 1) return {vector_norm(x, ord, axes, a.keepdims)};
         check(axes[0] != axes[1], ErrorKind::kValue, "linalg.norm: axis {} is named twice", axes[0]);
         return {matrix_norm(x, ord, axes[0], axes[1], a.keepdims)};
       },
       .samples = {uniform({2, 3}, 0.5, 2)}});
}

OpDef euclidean_norm_operator() {
  return reduction_operator<NumpyReduceAttrs>(
      std::make_shared<const Reduction>(
          Combine::kSum, [](Expr x) { return square(x); }, [](Expr sum, Expr) { return sqrt(sum); }),
      keeps_dtype<NumpyReduceAttrs>,
      {.name = "_euclidean_norm",
       .doc = "Root of the sum of squares along `axis`.",
       .gradient = elementwise_gradient<NumpyReduceAttrs>("_norm2_gradient"),
       .saves_outputs = 1});
}

OpDef gradient_operator(const char* name, const char* doc, FormulaFn formula) {
  return pointwise({.name = name, .doc = doc, .inputs = {"data", "result", "gradient"}, .formula = std::move(formula)});
}

}  // namespace

std::vector<OpDef> norm_operators() {
  return {
      gradient_operator("_norm1_gradient", "gradient * sign(data)", [](Expr x, Expr, Expr dy) { return dy * sign(x); }),
      gradient_operator("_norm2_gradient", "gradient * data / result",
                        [](Expr x, Expr y, Expr dy) { return dy * (x / y); }),
      gradient_operator("_square_sum_gradient", "2 * gradient * data",
                        [](Expr x, Expr, Expr dy) { return 2 * dy * x; }),
      norm(),
      square_sum("_square_sum"),
      multi_sum_sq(),
      euclidean_norm_operator(),
      numpy_norm()};
}

}  // namespace headrace
