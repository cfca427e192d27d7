// Variance, standard deviation and moments.
#include <fmt/format.h>

#include "headrace/arithmetic.hpp"
#include "op/gradient.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/reduce/axes.h"
#include "ops/reduce/reduce.h"

namespace headrace {
namespace {

struct VarianceAttrs {
  std::optional<Shape> axis = {};
  std::optional<DType> dtype = {};
  double ddof = 0;
  bool keepdims = false;
  static constexpr auto kFields =
      fields(field(&VarianceAttrs::axis, "axis", "Axis or axes to reduce; None means all."),
             field(&VarianceAttrs::dtype, "dtype", "dtype of the result; None: that of the input."),
             field(&VarianceAttrs::ddof, "ddof", "The divisor is the number of elements less ddof."),
             field(&VarianceAttrs::keepdims, "keepdims", "Keep reduced axes with length 1."));
  AxisSet axes(const char* op, size_t ndim) const { return numpy_axes(op, axis, ndim); }
};

struct MomentsAttrs {
  std::optional<Shape> axes_ = {};
  bool keepdims = false;
  static constexpr auto kFields =
      fields(field(&MomentsAttrs::axes_, "axes", "Axis or axes to reduce; None means all."),
             field(&MomentsAttrs::keepdims, "keepdims", "Keep reduced axes with length 1."));
  AxisSet axes(const char* op, size_t ndim) const { return legacy_axes(op, axes_, false, ndim); }
};

const Reduction& mean_reduction() {
  static const Reduction& reduction =
      *new Reduction(Combine::kSum, {}, [](Expr sum, Expr count) { return sum / count; });
  return reduction;
}
Expr squared_distance(Expr x, Expr mean) { return square(x - mean); }
const Reduction& variance_reduction() {
  static const Reduction& reduction = *new Reduction(
      Combine::kSum, [](Expr x, Expr mean) { return squared_distance(x, mean); },
      [](Expr sum, Expr count) { return sum / count; });
  return reduction;
}
const Reduction& deviation_reduction() {
  static const Reduction& reduction = *new Reduction(
      Combine::kSum, [](Expr x, Expr mean) { return squared_distance(x, mean); },
      [](Expr sum, Expr count) { return sqrt(sum / count); });
  return reduction;
}

// Two passes: the mean, then the distances from it.
void spread_around_mean(KernelContext& c, const Reduction& reduction, AxisSet axes, double ddof, const Tensor* mean_out,
                        const Tensor& output) {
  if (output.size == 0) return;
  const Tensor& input = c.input(0);
  const bool wide = input.dtype == DType::kFloat64 || !is_floating(input.dtype);
  const ComputeType type = wide ? ComputeType::kFloat64 : ComputeType::kFloat32;
  const DType mean_dtype = wide ? DType::kFloat64 : DType::kFloat32;
  const Shape kept = without_axes(input.shape, axes, true);
  Strides mean_strides = contiguous_strides(kept);
  const Tensor mean{c.workspace(static_cast<size_t>(output.size) * 8), mean_dtype, kept, mean_strides, output.size};
  mean_reduction().run(c, input, axes, mean, {.type = type});
  if (mean_out) mean_reduction().run(c, input, axes, *mean_out, {.type = type});
  const Strides strides = contiguous_strides(input.shape);
  for (size_t d = 0; d < kept.size(); ++d)
    if ((axes >> d) & 1) mean_strides[d] = 0;
  const Operand operands[] = {{input.data, input.dtype, strides.data()}, {mean.data, mean_dtype, mean_strides.data()}};
  const double count = static_cast<double>(reduced_count(input.shape, axes)) - ddof;
  reduction.run(c, input.shape, operands, axes, output, {.count = std::max(count, 0.0), .type = type});
}

struct ScaleAttrs {
  double scale = 1;
  static constexpr auto kFields = fields(field(&ScaleAttrs::scale, "scale", "Factor."));
};

OpDef distance_gradient() {
  return pointwise<ScaleAttrs>(
      {.op = {.name = "_variance_gradient",
              .doc = "scale * gradient * (data - mean)",
              .inputs = {"data", "mean", "gradient"},
              .samples = {Sample({uniform({2, 3}), uniform({2, 3}), uniform({2, 3})}, make_attrs(ScaleAttrs{0.5}))}},
       .formula = [](Expr x, Expr mean, Expr dy, Expr scale) { return scale * dy * (x - mean); }});
}

// scale * head * (x - mean(x)) in the dtype of x, head lacking the reduced axes.
NDArray around_mean(const NDArray& data, const NDArray& head, AxisSet axes, double scale) {
  const NDArray x = as_floats(data);
  Shape axis;
  for (size_t d = 0; d < x.ndim(); ++d)
    if ((axes >> d) & 1) axis.push_back(static_cast<int64_t>(d));
  NDArray mean = call("_npi_mean", {x}, {{"axis", axis}, {"keepdims", true}});
  const NDArray spread_head = spread(cast_to(head, x.dtype()), x.shape(), axes);
  return cast_to(call("_variance_gradient", {x, mean, spread_head}, {{"scale", scale}}), data.dtype());
}

template <bool root>
OpDef variance(const char* name, const char* python, const char* what) {
  return general<VarianceAttrs>(
      {.name = name,
       .python = {fmt::format("np.{}", python), fmt::format("ndarray.{}", python)},
       .doc = fmt::format(
           "{} along `axis` (an integer, a tuple, or None for all axes): the mean of squared distances from the "
           "mean{}. Integers give integers unless dtype says otherwise. Raises ValueError for an axis out of "
           "range.",
           what, root ? ", its root" : ""),
       .inputs = {"a"},
       .counted_outputs = always(2),
       .array_names = {.outputs = {python}},
       .complete =
           [](Completion& c, const VarianceAttrs& a) {
             if (c.has_rank(0))
               c.set_output(0, without_axes(c.shape(0), a.axes(c.name(), c.shape(0).size()), a.keepdims));
           },
       .infer =
           [](Infer& i, const VarianceAttrs& a) {
             i.output(without_axes(i.shape(0), a.axes(i.name(), i.shape(0).size()), a.keepdims),
                      a.dtype.value_or(i.dtype(0)));
             i.cost(3 * streaming_cost(i));
           },
       .kernel =
           [](KernelContext& c, const VarianceAttrs& a) {
             const AxisSet axes = a.axes(c.name(), c.input(0).shape.size());
             spread_around_mean(c, root ? deviation_reduction() : variance_reduction(), axes, a.ddof, nullptr,
                                c.output(0));
           },
       .gradient =
           [](Gradient& g, const VarianceAttrs& a) {
             const NDArray& x = g.input(0);
             const AxisSet axes = a.axes(g.op().name.c_str(), x.ndim());
             const double count = static_cast<double>(reduced_count(x.shape(), axes)) - a.ddof;
             const NDArray head = root ? cast_to(g.head(), x.dtype()) / cast_to(g.output(), x.dtype()) : g.head();
             g.set(0, around_mean(x, head, axes, (root ? 1 : 2) / count));
           },
       .saves_outputs = root ? 1u : kNothing,
       .samples = {uniform({2, 3, 4}),
                   Sample({uniform({2, 4})}, make_attrs(VarianceAttrs{.axis = Shape{1}, .ddof = 1}))}});
}

OpDef moments() {
  return general<MomentsAttrs>(
      {.name = "moments",
       .python = {"nd.moments"},
       .doc = "Mean and variance along `axes` (an integer, a tuple, or None for all axes: shape (1,)). Raises "
              "ValueError for "
              "an axis out of range.",
       .outputs = 2,
       .infer =
           [](Infer& i, const MomentsAttrs& a) {
             const AxisSet axes = a.axes(i.name(), i.shape(0).size());
             const Shape result = legacy_shape(without_axes(i.shape(0), axes, a.keepdims));
             i.output(result, i.dtype(0));
             i.output(result, i.dtype(0));
             i.cost(4 * streaming_cost(i));
           },
       .kernel =
           [](KernelContext& c, const MomentsAttrs& a) {
             const AxisSet axes = a.axes(c.name(), c.input(0).shape.size());
             spread_around_mean(c, variance_reduction(), axes, 0, &c.output(0), c.output(1));
           },
       .gradient =
           [](Gradient& g, const MomentsAttrs& a) {
             const NDArray& x = g.input(0);
             const AxisSet axes = a.axes(g.op().name.c_str(), x.ndim());
             const double share = 1.0 / static_cast<double>(reduced_count(x.shape(), axes));
             NDArray sum;
             if (g.has_head(0)) sum = spread(call("_mul_scalar", {g.head(0)}, {{"scalar", share}}), x.shape(), axes);
             if (g.has_head(1)) {
               NDArray second = around_mean(x, g.head(1), axes, 2 * share);
               sum = sum ? call("_grad_add", {sum, second}) : second;
             }
             g.set(0, sum);
           },
       .samples = {uniform({3, 4}), Sample({uniform({3, 4})}, make_attrs(MomentsAttrs{.axes_ = Shape{0}}))}});
}

}  // namespace

Operators variance_operators() {
  return {distance_gradient(), variance<false>("_npi_var", "var", "Variance"),
          variance<true>("_npi_std", "std", "Standard deviation"), moments()};
}

}  // namespace headrace
