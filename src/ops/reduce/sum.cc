// Sums, means and products.
#include <map>

#include "headrace/arithmetic.hpp"
#include "op/gradient.h"
#include "op/rule.h"
#include "ops/reduce/reduce.h"
#include "ops/sparse/row_forms.h"

namespace headrace {

double streaming_cost(const Infer& i) noexcept {
  return 100 + static_cast<double>(i.size(0)) * (0.05 + 0.08 * static_cast<double>(item_size(i.dtype(0))));
}

namespace {

std::shared_ptr<const Reduction> make(Combine combine, FormulaFn prologue = {}, FormulaFn epilogue = {}) {
  return std::make_shared<const Reduction>(combine, std::move(prologue), std::move(epilogue));
}

struct SumAxesAttrs {
  Shape axis;
  static constexpr auto kFields = fields(field(&SumAxesAttrs::axis, "axis", "Axes to sum over.").required());
  AxisSet axes(const char* op, size_t ndim) const { return axis_set(op, axis, ndim); }
  Shape result_shape(const Shape& shape, AxisSet set) const { return without_axes(shape, set, false); }
  std::optional<double> start() const { return {}; }
};

template <class A>
void sum_gradient(Gradient& g, const A& a) {
  const Shape& shape = g.input(0).shape();
  g.set(0, spread(cast_to(g.head(), g.input(0).dtype()), shape, a.axes(g.op().name.c_str(), shape.size())));
}

template <class A>
void mean_gradient(Gradient& g, const A& a) {
  const Shape& shape = g.input(0).shape();
  const AxisSet axes = a.axes(g.op().name.c_str(), shape.size());
  const double share = 1.0 / static_cast<double>(reduced_count(shape, axes));
  NDArray head = cast_to(g.head(), g.input(0).dtype()) * share;
  g.set(0, spread(head, shape, axes));
}

const char* kSumAxisNote =
    "\n\nReduces over `axis` (an integer, a tuple, or None for all axes). The dtype is kept; sums of float16 and "
    "float32 are "
    "held in double precision. Raises ValueError for an axis that is out of range or named twice.";

OpDef sum_axes() {
  return reduction_operator<SumAxesAttrs>(make(Combine::kSum), keeps_dtype<SumAxesAttrs>,
                                          {.name = "_sum_axes",
                                           .doc = "Sum over the given axes, which go.",
                                           .gradient = sum_gradient<SumAxesAttrs>,
                                           .saves_inputs = kNothing,
                                           .samples = {Sample({uniform({2, 3, 4})}, make_attrs(SumAxesAttrs{{0, 2}})),
                                                       Sample({uniform({2, 0})}, make_attrs(SumAxesAttrs{{1}}))}});
}

OpDef legacy_sum() {
  return reduction_operator<LegacyReduceAttrs>(
      make(Combine::kSum), keeps_dtype<LegacyReduceAttrs>,
      {.name = "sum",
       .aliases = {"sum_axis"},
       .python = {"nd.sum", "nd.sum_axis", "NDArray.sum"},
       .doc = std::string("Sum of elements. A sum over all axes has shape (1,).") + kSumAxisNote,
       .storage_forms = summed_matrix_forms(),
       .gradient = sum_gradient<LegacyReduceAttrs>,
       .saves_inputs = kNothing,
       .samples = {uniform({2, 3, 4}), Sample({uniform({2, 3, 4})}, make_attrs(LegacyReduceAttrs{.axis = Shape{1}}))}});
}

OpDef numpy_sum() {
  return reduction_operator<NumpySumAttrs>(
      make(Combine::kSum), sum_dtype<NumpySumAttrs>,
      {.name = "_np_sum",
       .aliases = {"_npi_sum"},
       .python = {"np.sum", "ndarray.sum"},
       .doc = std::string("Sum of elements. bool arrays sum to int64.") + kSumAxisNote,
       .inputs = {"a"},
       .gradient = sum_gradient<NumpySumAttrs>,
       .saves_inputs = kNothing,
       .samples = {uniform({2, 3, 4}), Sample({uniform({2, 3, 4})}, make_attrs(NumpySumAttrs{.axis = Shape{0, 2}}))}});
}

FormulaFn divide_by_count() {
  return [](Expr sum, Expr count) { return sum / count; };
}

OpDef legacy_mean() {
  return reduction_operator<LegacyReduceAttrs>(
      make(Combine::kSum, {}, divide_by_count()), keeps_dtype<LegacyReduceAttrs>,
      {.name = "mean",
       .python = {"nd.mean", "NDArray.mean"},
       .doc = std::string("Arithmetic mean. Means of integers are integers, truncated.") + kSumAxisNote,
       .gradient = mean_gradient<LegacyReduceAttrs>,
       .saves_inputs = kNothing,
       .samples = {uniform({2, 3, 4}),
                   Sample({uniform({2, 3, 4})}, make_attrs(LegacyReduceAttrs{.axis = Shape{-1}}))}});
}

// The sum becomes a number of a small integer dtype, and wraps, before it is divided: NumPy's means with a `dtype` do.
const Reduction& mean_as(std::optional<DType> dtype) {
  using Means = std::map<DType, Reduction>;
  static const Means& wrapping = *new Means([] {
    Means means;
    for (DType d : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt32, DType::kUint32})
      means.try_emplace(d, Combine::kSum, FormulaFn(), [d](Expr sum, Expr count) { return round_to(sum, d) / count; });
    return means;
  }());
  static const Reduction& plain = *new Reduction(Combine::kSum, {}, divide_by_count());
  const auto found = dtype ? wrapping.find(*dtype) : wrapping.end();
  return found == wrapping.end() ? plain : found->second;
}

OpDef numpy_mean() {
  return reduction_operator_of<NumpyMeanAttrs>(
      [](const NumpyMeanAttrs& a) -> const Reduction& { return mean_as(a.dtype); }, true, mean_dtype<NumpyMeanAttrs>,
      {.name = "_npi_mean",
       .python = {"np.mean", "ndarray.mean"},
       .doc = std::string("Arithmetic mean. Integers and bool give float32. With an integer `dtype` the sum is of this "
                          "dtype, too, and wraps.") +
              kSumAxisNote,
       .inputs = {"a"},
       .gradient = mean_gradient<NumpyMeanAttrs>,
       .saves_inputs = kNothing,
       .samples = {uniform({2, 3, 4}), Sample({uniform({2, 3, 4})}, make_attrs(NumpyMeanAttrs{.axis = Shape{0}}))}});
}

}  // namespace

Operators sum_operators() { return {sum_axes(), legacy_sum(), numpy_sum(), legacy_mean(), numpy_mean()}; }

}  // namespace headrace
