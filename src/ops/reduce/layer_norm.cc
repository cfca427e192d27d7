#include "ops/reduce/layer_norm.h"

#include "headrace/arithmetic.hpp"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/thread_state.h"

namespace headrace {
namespace {

struct LayerNormAttrs {
  int64_t axis = -1;
  double eps = 1e-5;
  bool output_mean_var = false;
  static constexpr auto kFields = fields(
      field(&LayerNormAttrs::axis, "axis", "Axis to normalise; negative counts from the end."),
      field(&LayerNormAttrs::eps, "eps", "Added to the variance."),
      field(&LayerNormAttrs::output_mean_var, "output_mean_var", "Also give the mean and sqrt(variance + eps)."));
};

size_t result_count(const LayerNormAttrs& a) { return a.output_mean_var ? 3 : 1; }

struct LayerNormBackwardAttrs {
  double eps = 1e-5;
  bool of_parameters = true;
  static constexpr auto kFields = fields(
      field(&LayerNormBackwardAttrs::eps, "eps", "Added to the variance."),
      field(&LayerNormBackwardAttrs::of_parameters, "of_parameters", "Also give the gradients of gamma and beta."));
};

size_t gradient_count(const LayerNormBackwardAttrs& a) { return a.of_parameters ? 3 : 1; }

// Gradients out of operators that can be differentiated again.
void composed_gradient(Gradient& g, int64_t axis, double eps) {
  const NDArray &x = g.input(0), &dy = g.head();
  Shape along(x.ndim(), 1);
  along[static_cast<size_t>(axis)] = g.input(1).size();
  NDArray gamma = call("_reshape_to", {g.input(1)}, {{"shape", along}});
  const auto mean_of = [axis](const NDArray& v) {
    return call("mean", {v}, {{"axis", Shape{axis}}, {"keepdims", true}});
  };
  NDArray centered = x - mean_of(x);
  NDArray variance = mean_of(call("square", {centered}));
  NDArray scale = call("rsqrt", {variance + eps});
  NDArray z = centered * scale;
  NDArray weighted = dy * gamma;
  NDArray along_z = z * mean_of(weighted * z);
  NDArray difference = weighted - mean_of(weighted) - along_z;
  g.set(0, difference * scale);
  const auto sum_rows = [axis](const NDArray& v) {
    return call("sum", {v}, {{"axis", Shape{axis}}, {"exclude", true}});
  };
  if (g.wants(1)) g.set(1, sum_rows(dy * z));
  if (g.wants(2)) g.set(2, sum_rows(dy));
}

void gradient(Gradient& g, const LayerNormAttrs& a) {
  const auto ndim = static_cast<int64_t>(g.input(0).ndim());
  const int64_t axis = normalize_axis(a.axis, ndim, "LayerNorm");
  if (thread_state().recording || axis != ndim - 1) return composed_gradient(g, axis, a.eps);
  const OpDef& backward = find_op("_backward_LayerNorm");
  const NDArray inputs[] = {g.head(), g.input(0), g.input(1)};
  const LayerNormBackwardAttrs attrs{a.eps, g.wants(1) || g.wants(2)};
  std::vector<NDArray> gradients(gradient_count(attrs));
  if (g.target(0) && g.target(0).dtype() == g.input(0).dtype()) gradients[0] = g.target(0);
  invoke(backward, make_attrs(attrs), inputs, gradients);
  for (size_t i = 0; i < gradients.size(); ++i)
    if (g.wants(i)) g.set(i, gradients[i]);
}

void infer_layer_norm(Infer& i, const LayerNormAttrs& a) {
  const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(i.shape(0).size()), i.name());
  const Shape parameter{i.shape(0)[static_cast<size_t>(axis)]};
  i.require(is_floating(i.dtype(0)), ErrorKind::kType, "expected floats, got {}; convert with astype",
            dtype_name(i.dtype(0)));
  for (size_t k : {1, 2})
    i.require(i.shape(k) == parameter, ErrorKind::kValue, "expected {} of shape {} (axis {} of data {}), got {}",
              k == 1 ? "gamma" : "beta", to_string(parameter), axis, to_string(i.shape(0)), to_string(i.shape(k)));
  i.output(i.shape(0), i.dtype(0));
  Shape moments = i.shape(0);
  moments[static_cast<size_t>(axis)] = 1;
  for (size_t k = 1; k < result_count(a); ++k) i.output(moments, i.dtype(0));
  i.cost(100 + static_cast<double>(i.size(0)) * 0.5);
}

OpDef layer_norm() {
  return general<LayerNormAttrs>(
      {.name = "LayerNorm",
       .aliases = {"_npx_layer_norm"},
       .python = {"nd.LayerNorm", "npx.layer_norm"},
       .doc =
           "(x - mean) / sqrt(variance + eps) * gamma + beta with mean and variance along one axis; gamma and beta "
           "have "
           "the extent of that axis.\n\n"
           "Raises ValueError for an axis out of range or parameters of another shape, TypeError for data that are not "
           "floats.",
       .inputs = {"data", "gamma", "beta"},
       .output_count = result_count,
       .counted_outputs = always(3),
       .array_names = {.outputs = {"output", "mean", "std"}},
       .complete =
           [](Completion& c, const LayerNormAttrs& a) {
             c.set_equal(0);
             if (!c.has_rank(0)) return;
             const Shape& shape = c.shape(0);
             const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(shape.size()), c.name());
             for (size_t k : {1, 2}) c.set(k, Shape{shape[static_cast<size_t>(axis)]});
           },
       .infer = infer_layer_norm,
       .kernel =
           [](KernelContext& c, const LayerNormAttrs& a) {
             const Shape& shape = c.input(0).shape;
             const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(shape.size()), c.name());
             layer_norm_forward(c, AxisSpace::along(shape, axis), a.eps);
           },
       .gradient = gradient,
       .saves_inputs = 0b011,
       .samples = {Sample({uniform({2, 4}), uniform({4}), uniform({4})}),
                   Sample({uniform({2, 3, 4}), uniform({3}), uniform({3})}, make_attrs(LayerNormAttrs{.axis = 1}))}});
}

OpDef rows_backward() {
  return general<LayerNormBackwardAttrs>(
      {.name = "_backward_LayerNorm",
       .doc = "Gradients of layer normalisation along the last axis: of data, gamma and beta.",
       .inputs = {"gradient", "data", "gamma"},
       .output_count = gradient_count,
       .infer =
           [](Infer& i, const LayerNormBackwardAttrs& a) {
             const Shape& data = i.shape(1);
             i.require(!data.empty(), ErrorKind::kRuntime, "data must have an axis, got shape ()");
             expect_floats(i, 1);
             expect_shape(i, 0, data);
             expect_shape(i, 2, Shape{data.back()});
             i.output(i.shape(1), i.dtype(1));
             for (size_t k = 1; k < gradient_count(a); ++k) i.output(i.shape(2), i.dtype(2));
             i.cost(100 + static_cast<double>(i.size(0)));
           },
       .kernel = [](KernelContext& c, const LayerNormBackwardAttrs& a) { layer_norm_backward(c, a.eps); },
       .samples = {Sample({uniform({2, 3, 4}), uniform({2, 3, 4}), uniform({4})}),
                   Sample({uniform({3, 5}), uniform({3, 5}), uniform({5})},
                          make_attrs(LayerNormBackwardAttrs{.of_parameters = false}))}});
}

}  // namespace

Operators layer_norm_operators() { return {layer_norm(), rows_backward()}; }

}  // namespace headrace
