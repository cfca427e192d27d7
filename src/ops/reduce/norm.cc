// Norms of vectors and matrices, and sums of squares.
#include <cmath>

#include "headrace/arithmetic.hpp"
#include "op/gradient.h"
#include "op/invoke_stored.h"
#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/reduce/reduce.h"
#include "ops/sparse/row_forms.h"

namespace headrace {
namespace {

const Reduction& absolute_sum() {
  static const Reduction& reduction = *new Reduction(Combine::kSum, [](Expr x) { return abs(x); });
  return reduction;
}
const Reduction& euclidean() {
  static const Reduction& reduction = *new Reduction(
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
  Shape result_shape(const Shape& shape, AxisSet set) const { return legacy_shape(without_axes(shape, set, keepdims)); }
  std::optional<double> start() const { return {}; }
};

const Reduction& reduction_of(const NormAttrs& a) { return a.ord == 1 ? absolute_sum() : euclidean(); }

// Squares of integers leave their type long before the root of their sum does.
std::optional<ComputeType> compute_type(const NormAttrs& a, DType elements) {
  if (a.ord == 2 && is_integer(elements)) return ComputeType::kFloat64;
  return {};
}

bool is_of_all(const NormAttrs& a) { return (!a.axis || a.axis->empty()) && !a.keepdims; }

OpDef norm() {
  OpDef op = general<NormAttrs>(
      {.name = "norm",
       .python = {"nd.norm", "NDArray.norm"},
       .doc = "Norm of the vectors along `axis` (an integer, a tuple, or None for all elements: shape (1,)). The "
              "gradient of "
              "the Euclidean norm at 0 is NaN.\n\n"
              "Raises ValueError for an `ord` other than 1 and 2 or an axis out of range.",
       .complete =
           [](Completion& c, const NormAttrs& a) {
             if (c.has_rank(0)) c.set_output(0, a.result_shape(c.shape(0), a.axes(c.name(), c.shape(0).size())));
           },
       .result_dtype = [](std::span<const DType> inputs, const NormAttrs& a,
                          size_t) { return a.out_dtype.value_or(inputs[0]); },
       .infer =
           [](Infer& i, const NormAttrs& a) {
             i.require(a.ord == 1 || a.ord == 2, ErrorKind::kValue, "ord must be 1 or 2, got {}", a.ord);
             i.output(a.result_shape(i.shape(0), a.axes(i.name(), i.shape(0).size())),
                      a.out_dtype.value_or(i.dtype(0)));
             i.cost(streaming_cost(i));
           },
       .kernel =
           [](KernelContext& c, const NormAttrs& a) {
             const Tensor& data = c.input(0);
             reduction_of(a).run(c, data, a.axes(c.name(), data.shape.size()), c.output(0),
                                 {.type = compute_type(a, data.dtype)});
           },
       .storage_forms = {{{StorageKind::kRowSparse}, {StorageKind::kDense}, reduce_all_rows, is_of_all},
                         {{StorageKind::kCsr}, {StorageKind::kDense}, reduce_all_rows, is_of_all}},
       .gradient =
           [](Gradient& g, const NormAttrs& a) {
             elementwise_gradient<NormAttrs>(a.ord == 1 ? "_norm1_gradient" : "_norm2_gradient")(g, a);
           },
       .saves_outputs = 1,
       .strided_inputs = true,
       .samples = {uniform({2, 3, 4}, 0.5, 2),
                   Sample({uniform({2, 3}, 0.5, 2)}, make_attrs(NormAttrs{.ord = 1, .axis = Shape{1}}))}});
  allow_fusion<NormAttrs>(op, reduction_of);
  op.fuse = [fuse = std::move(op.fuse)](const Attrs& attrs, const Fusion& s) -> std::shared_ptr<const OpDef> {
    return compute_type(attrs.as<NormAttrs>(), s.data->dtype()) ? nullptr : fuse(attrs, s);
  };
  return op;
}

// Of sums over all of each row; others are taken of dense copies.
void square_sum_back(Gradient& g, const LegacyReduceAttrs& a) {
  const NDArray& data = g.input(0);
  if (data.storage_kind() == StorageKind::kDense && g.output().storage_kind() == StorageKind::kDense)
    return elementwise_gradient<LegacyReduceAttrs>("_square_sum_gradient")(g, a);
  if (data.ndim() == 2 && g.output().size() == data.shape()[0] && a.axis && a.axis->front() == 1)
    return g.set(0, call("_scale_rows", {data, g.head()}) * 2.0);
  const AxisSet axes = a.axes(g.op().name.c_str(), data.shape().size());
  g.set(0, call("_square_sum_gradient", {dense(data), dense(data), spread(dense(g.head()), data.shape(), axes)}));
}

OpDef square_sum(const char* name) {
  return reduction_operator<LegacyReduceAttrs>(
      square_sum_reduction(), keeps_dtype<LegacyReduceAttrs>,
      {.name = name,
       .python = {std::string("nd._internal.") + name},
       .doc = "Sum of squares along `axis`: of a row_sparse array along rows that are kept by keepdims, row_sparse. "
              "Raises ValueError for an axis out of range.",
       .storage_forms = reduced_row_forms(),
       .gradient = square_sum_back,
       .saves_outputs = 1,
       .samples = {uniform({2, 3, 4})}});
}

struct MultiSumSqAttrs {
  int64_t num_arrays = 1;
  static constexpr auto kFields =
      fields(field(&MultiSumSqAttrs::num_arrays, "num_arrays", "Number of arrays.").counts_inputs().required());
};

OpDef multi_sum_sq() {
  return general<MultiSumSqAttrs>(
      {.name = "multi_sum_sq",
       .python = {"nd.multi_sum_sq"},
       .doc = "Sum of squares of each array, as one float32 array of shape (num_arrays,). Raises ValueError unless "
              "num_arrays arrays are given.",
       .variadic = true,
       .array_names = {.inputs = "array_"},
       .result_dtype = result_dtypes::always(DType::kFloat32),
       .infer =
           [](Infer& i, const MultiSumSqAttrs& a) {
             i.require(static_cast<int64_t>(i.input_count()) == a.num_arrays, ErrorKind::kValue,
                       "expected num_arrays={} arrays, got {}", a.num_arrays, i.input_count());
             i.output({a.num_arrays}, DType::kFloat32);
           },
       .kernel =
           [](KernelContext& c, const MultiSumSqAttrs&) {
             static const Reduction& reduction = *new Reduction(Combine::kSum, [](Expr x) { return square(x); });
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

OpDef euclidean_norm_operator() {
  return reduction_operator<NumpyReduceAttrs>(
      std::make_shared<const Reduction>(
          Combine::kSum, [](Expr x) { return square(x); }, [](Expr sum, Expr) { return sqrt(sum); }),
      keeps_dtype<NumpyReduceAttrs>,
      {.name = "_euclidean_norm",
       .doc = "Root of the sum of squares along `axis`.",
       .gradient = elementwise_gradient<NumpyReduceAttrs>("_norm2_gradient"),
       .saves_outputs = 1,
       .samples = {uniform({2, 3, 4}), Sample({uniform({2, 3})}, make_attrs(NumpyReduceAttrs{.axis = Shape{1}}))}});
}

OpDef norm_gradient(const char* name, const char* doc, FormulaFn formula) {
  return pointwise({.op = {.name = name,
                           .doc = doc,
                           .inputs = {"data", "result", "gradient"},
                           .samples = {Sample({uniform({2, 3}), uniform({2, 3}, 0.5, 2), uniform({2, 3})}),
                                       Sample({values({-1, 0, 2}), values({1, 1, 2}), uniform({3})})}},
                    .formula = std::move(formula)});
}

}  // namespace

Operators norm_operators() {
  return {
      norm_gradient("_norm1_gradient", "gradient * sign(data)", [](Expr x, Expr, Expr dy) { return dy * sign(x); }),
      norm_gradient("_norm2_gradient", "gradient * data / result",
                    [](Expr x, Expr y, Expr dy) { return dy * (x / y); }),
      norm_gradient("_square_sum_gradient", "2 * gradient * data", [](Expr x, Expr, Expr dy) { return 2 * dy * x; }),
      norm(),
      square_sum("_square_sum"),
      multi_sum_sq(),
      euclidean_norm_operator()};
}

}  // namespace headrace
