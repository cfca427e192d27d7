// Weighted means and percentiles, put together from other operators.
#include <cmath>

#include "base/check.h"
#include "op/invoke.h"
#include "op/result_dtype.h"
#include "ops/reduce/axes.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

using Arrays = std::span<const NDArray>;

NDArray reshaped_to(const NDArray& array, Shape shape) {
  return call("_reshape_to", {array}, {{"shape", std::move(shape)}});
}

// Ascending and not negative; all axes for none.
Shape ascending_axes(const std::optional<Shape>& axis, size_t ndim, const char* name) {
  Shape axes;
  if (axis) {
    axes = normalize_axes(*axis, ndim, name);
    std::ranges::sort(axes);
  } else {
    for (size_t d = 0; d < ndim; ++d) axes.push_back(static_cast<int64_t>(d));
  }
  return axes;
}

// --- average ---------------------------------------------------------------------------------------------------------

struct AverageAttrs {
  std::optional<Shape> axis = {};
  bool returned = false, weighted = true;
  static constexpr auto kFields =
      fields(field(&AverageAttrs::axis, "axis", "Axis or axes of the mean; None: all."),
             field(&AverageAttrs::returned, "returned", "Whether the sum of the weights is a second result."),
             field(&AverageAttrs::weighted, "weighted", "Whether there are weights."));
};

// Weights of the shape of `a`, or of the extent of the one axis.
NDArray fitting_weights(const NDArray& a, const NDArray& weights, const AverageAttrs& attrs) {
  if (weights.shape() == a.shape()) return weights;
  check(attrs.axis.has_value(), ErrorKind::kType, "average: weights of another shape than the array need an axis");
  check(weights.ndim() == 1 && attrs.axis->size() == 1, ErrorKind::kType,
        "average: weights of another shape must be one-dimensional, for one axis");
  const auto along = static_cast<size_t>(ascending_axes(attrs.axis, a.ndim(), "average")[0]);
  check(weights.size() == a.shape()[along], ErrorKind::kValue, "average: {} weights do not fit axis {} of shape {}",
        weights.size(), (*attrs.axis)[0], to_string(a.shape()));
  Shape shape(a.ndim(), 1);
  shape[along] = weights.size();
  return call("_npi_broadcast_to", {reshaped_to(weights, shape)}, {{"shape", a.shape()}});
}

DType average_dtype(std::span<const DType> inputs, const AverageAttrs&, size_t) {
  const auto given = std::ranges::find_if(inputs, is_floating);
  return given == inputs.end() ? DType::kFloat32 : *given;
}

std::vector<NDArray> average(Arrays in, const AverageAttrs& a) {
  check(in.size() == (a.weighted ? 2u : 1u), ErrorKind::kValue, "average: weighted={} goes with {} array(s), got {}",
        a.weighted ? "True" : "False", a.weighted ? 2 : 1, in.size());
  const Shape axes = ascending_axes(a.axis, in[0].ndim(), "average");
  if (!a.weighted) {
    std::vector<NDArray> results{call("_npi_mean", {in[0]}, {{"axis", axes}})};
    double count = 1;
    for (int64_t axis : axes) count *= static_cast<double>(in[0].shape()[static_cast<size_t>(axis)]);
    if (a.returned) results.push_back(full({}, count, results[0].dtype(), in[0].device()));
    return results;
  }
  const bool has_integers = !is_floating(in[0].dtype()) || !is_floating(in[1].dtype());
  const auto wide = [&](const NDArray& x) { return has_integers ? cast_to(x, DType::kFloat64) : x; };
  const NDArray data = wide(in[0]), weights = fitting_weights(data, wide(in[1]), a);
  NDArray total = call("_np_sum", {weights}, {{"axis", axes}});
  NDArray sum = call("_np_sum", {call("_npi_multiply", {data, weights})}, {{"axis", axes}});
  std::vector<NDArray> results{call("_npi_true_divide", {sum, total})};
  if (a.returned) results.push_back(std::move(total));
  const DType dtypes[] = {in[0].dtype(), in[1].dtype()};
  if (has_integers)
    for (NDArray& result : results) result = cast_to(result, average_dtype(dtypes, a, 0));
  return results;
}

OpDef average_operator() {
  return general<AverageAttrs>(
      {.name = "_npi_average",
       .doc =
           "Mean of the elements along `axis`, weighted by an array of the same shape or as long as the axis. Raises "
           "TypeError for weights of another shape without one axis, ValueError for weights that do not fit it.",
       .inputs = {"a", "weights"},
       .optional_inputs = 1,
       .output_count = [](const AverageAttrs& a) { return size_t{a.returned ? 2u : 1u}; },
       .input_count = [](const AverageAttrs& a) { return size_t{a.weighted ? 2u : 1u}; },
       .result_dtype = average_dtype,
       .compose = average,
       .samples = {Sample({uniform({2, 3}), uniform({2, 3}, 1, 2)}),
                   Sample({uniform({2, 3}), uniform({3}, 1, 2)}, make_attrs(AverageAttrs{.axis = Shape{1}})),
                   Sample({uniform({2, 3})}, make_attrs(AverageAttrs{.axis = Shape{0}, .weighted = false}))}});
}

// --- percentile ------------------------------------------------------------------------------------------------------

struct PercentileAttrs {
  std::optional<Shape> axis = {};
  std::string interpolation = "linear";
  bool keepdims = false;
  std::optional<double> q_scalar = {};
  static constexpr auto kFields =
      fields(field(&PercentileAttrs::axis, "axis", "Axis or axes whose elements are looked at; None: all."),
             field(&PercentileAttrs::interpolation, "interpolation", "What is taken between two elements.")
                 .one_of("linear|lower|higher|midpoint|nearest"),
             field(&PercentileAttrs::keepdims, "keepdims", "Keep these axes with length 1."),
             field(&PercentileAttrs::q_scalar, "q_scalar", "Which percentile; None: the second array holds them."));
};

// The axes merged into a last one and sorted along it.
NDArray sorted_rows(const NDArray& a, const Shape& axes) {
  Shape order, shape;
  for (size_t d = 0; d < a.ndim(); ++d) {
    const auto axis = static_cast<int64_t>(d);
    if (std::ranges::find(axes, axis) != axes.end()) continue;
    order.push_back(axis);
    shape.push_back(a.shape()[d]);
  }
  int64_t length = 1;
  for (int64_t axis : axes) {
    order.push_back(axis);
    length *= a.shape()[static_cast<size_t>(axis)];
  }
  shape.push_back(length);
  const NDArray turned = order.empty() ? a : call("transpose", {a}, {{"axes", order}});
  return call("sort", {reshaped_to(turned, shape)}, {{"axis", int64_t{-1}}});
}

// The elements of sorted rows at real-valued places, the new axis being the last.
NDArray elements_at(const NDArray& rows, const NDArray& places, const std::string& interpolation) {
  NDArray lower = call("floor", {places}), upper = call("ceil", {places});
  if (interpolation == "nearest") lower = call("_npi_around", {places});
  if (interpolation == "higher") lower = upper;
  const auto taken = [&](const NDArray& at) {
    return call("take", {rows, cast_to(at, DType::kInt64)}, {{"axis", int64_t{-1}}, {"mode", "clip"}});
  };
  const NDArray low = taken(lower);
  if (interpolation != "linear" && interpolation != "midpoint") return low;
  const NDArray high = taken(upper), step = call("_npi_subtract", {high, low});
  const NDArray part =
      interpolation == "midpoint"
          ? call("_mul_scalar", {step}, {{"scalar", 0.5}})
          : call("_npi_multiply", {step, cast_to(call("_npi_subtract", {places, lower}), rows.dtype())});
  // Between an infinity and another number lies that infinity.
  return call("_npi_where",
              {call("_npi_isfinite", {step}), call("_npi_add", {low, part}), call("_npi_add", {low, high})});
}

// What was found in sorted rows, but nan in rows with a nan, which is last there.
NDArray unless_nan(const NDArray& rows, const NDArray& found) {
  const int64_t length = rows.shape().back();
  const NDArray last = call("slice_axis", {rows}, {{"axis", int64_t{-1}}, {"begin", length - 1}, {"end", length}});
  return call("_npi_where", {call("_npi_isnan", {last}), last, found});
}

// A function that ranks elements: `most` is the q of the largest.
struct Ranking {
  const char* name;
  double most;
};
constexpr Ranking kPercentile{"percentile", 100}, kQuantile{"quantile", 1};

std::vector<NDArray> ranked(const Ranking& ranking, Arrays in, const PercentileAttrs& a) {
  check((in.size() == 2) != a.q_scalar.has_value(), ErrorKind::kValue, "{}: give q_scalar or an array of q",
        ranking.name);
  check(!a.q_scalar || (*a.q_scalar >= 0 && *a.q_scalar <= ranking.most), ErrorKind::kValue,
        "{}: q must lie in [0, {}], got {}", ranking.name, ranking.most, a.q_scalar.value_or(0));
  const NDArray x = as_floats(in[0]);
  const Shape axes = ascending_axes(a.axis, x.ndim(), ranking.name);
  const NDArray rows = sorted_rows(x, axes);
  const int64_t length = rows.shape().back();
  check(length > 0, ErrorKind::kValue, "{}: there are no elements along the axes {} of shape {}", ranking.name,
        to_string(axes), to_string(x.shape()));
  const NDArray q = a.q_scalar ? full({}, *a.q_scalar, DType::kFloat64, x.device()) : cast_to(in[1], DType::kFloat64);
  // Products first, so that percentiles that are elements are found exactly.
  const NDArray scaled =
      call("_mul_scalar", {reshaped_to(q, {q.size()})}, {{"scalar", static_cast<double>(length - 1)}});
  const NDArray places = ranking.most == 1 ? scaled : call("_div_scalar", {scaled}, {{"scalar", ranking.most}});
  const NDArray found = unless_nan(rows, elements_at(rows, places, a.interpolation));
  Shape shape = q.shape();
  for (size_t d = 0; d < x.ndim(); ++d) {
    const bool reduced = std::ranges::find(axes, static_cast<int64_t>(d)) != axes.end();
    if (!reduced || a.keepdims) shape.push_back(reduced ? 1 : x.shape()[d]);
  }
  const NDArray turned = call("_np_moveaxis", {found}, {{"source", Shape{-1}}, {"destination", Shape{0}}});
  return {reshaped_to(turned, shape)};
}

OpDef ranking_operator(const Ranking& ranking, OpDef op) {
  op.inputs = {"a", "q"};
  op.optional_inputs = 1;
  op.result_dtype = result_dtypes::floating;
  op.compose = [&ranking](Arrays in, const PercentileAttrs& a) { return ranked(ranking, in, a); };
  op.samples = {
      Sample({uniform({2, 3})}, make_attrs(PercentileAttrs{.q_scalar = 0.3 * ranking.most})),
      Sample({uniform({2, 5}), uniform({2}, 0, ranking.most)}, make_attrs(PercentileAttrs{.axis = Shape{1}}))};
  return general<PercentileAttrs>(std::move(op));
}

OpDef percentile_operator() {
  return ranking_operator(
      kPercentile,
      {.name = "_npi_percentile",
       .doc = "Percentiles of the elements along `axis`: the shape of q, then the remaining axes. Percentiles in an "
              "array are clipped to [0, 100]. Where there is a nan, all are nan. Raises ValueError for a q_scalar "
              "outside of it, or where there are no elements."});
}

Spelling spelled_quantile(const PercentileAttrs& a, size_t inputs) {
  const auto hundredfold = [](std::optional<double> q) {
    return q ? AttrValue(*q * 100) : AttrValue(std::monostate{});
  };
  Spelling spelling{.op = "_npi_percentile",
                    .attrs = {{"axis", a.axis ? AttrValue(*a.axis) : AttrValue(std::monostate{})},
                              {"interpolation", a.interpolation},
                              {"keepdims", a.keepdims},
                              {"q_scalar", hundredfold(a.q_scalar)}}};
  if (inputs == 2)
    spelling.inputs = {Spelling::of_input(0),
                       {.op = "_npi_multiply_scalar", .attrs = {{"scalar", 100.0}}, .inputs = {Spelling::of_input(1)}}};
  return spelling;
}

OpDef quantile_operator() {
  return ranking_operator(kQuantile, {.name = "_np_quantile",
                                      .doc = "Quantiles of the elements along `axis`, as percentiles but of [0, 1].",
                                      .spelling = spelled_quantile});
}

}  // namespace

Operators statistics_operators() { return {average_operator(), percentile_operator(), quantile_operator()}; }

}  // namespace headrace
