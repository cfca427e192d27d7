#include "ops/reduce/layer_norm.h"

#include "op/invoke.h"
#include "op/thread_state.h"
#include "ops/families.h"

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

struct EpsAttrs {
  double eps = 1e-5;
  static constexpr auto kFields = fields(field(&EpsAttrs::eps, "eps", "Added to the variance."));
};

// The last axis of `x` swapped with `axis`: a view.
NDArray swapped(const NDArray& x, int64_t axis) {
  const int64_t last = static_cast<int64_t>(x.ndim()) - 1;
  return axis == last ? x : call("SwapAxis", {x}, {{"dim1", axis}, {"dim2", last}});
}

// Gradients out of operators that can be differentiated again.
void composed_gradient(Gradient& g, int64_t axis, double eps) {
  const NDArray &x = g.input(0), &dy = g.head();
  Shape along(x.ndim(), 1);
  along[static_cast<size_t>(axis)] = g.input(1).size();
  NDArray gamma = call("_reshape_to", {g.input(1)}, {{"shape", along}});
  const auto mean_of = [axis](const NDArray& v) {
    return call("mean", {v}, {{"axis", Shape{axis}}, {"keepdims", true}});
  };
  NDArray centered = call("broadcast_sub", {x, mean_of(x)});
  NDArray variance = mean_of(call("square", {centered}));
  NDArray scale = call("rsqrt", {call("_plus_scalar", {variance}, {{"scalar", eps}})});
  NDArray z = call("broadcast_mul", {centered, scale});
  NDArray weighted = call("broadcast_mul", {dy, gamma});
  NDArray along_z = call("broadcast_mul", {z, mean_of(call("broadcast_mul", {weighted, z}))});
  NDArray difference = call("broadcast_sub", {call("broadcast_sub", {weighted, mean_of(weighted)}), along_z});
  g.set(0, call("broadcast_mul", {difference, scale}));
  const auto sum_rows = [axis](const NDArray& v) { return call("sum", {v}, {{"axis", Shape{axis}}, {"exclude", true}}); };
  if (g.wants(1)) g.set(1, sum_rows(call("broadcast_mul", {dy, z})));
  if (g.wants(2)) g.set(2, sum_rows(dy));
}

void gradient(Gradient& g, const LayerNormAttrs& a) {
  const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(g.input(0).ndim()), "LayerNorm");
  if (thread_state().recording) return composed_gradient(g, axis, a.eps);
  const OpDef& backward = find_op("_backward_LayerNorm");
  const NDArray inputs[] = {swapped(g.head(), axis), swapped(g.input(0), axis), g.input(1)};
  std::vector<NDArray> gradients = invoke_all(backward, make_attrs(EpsAttrs{a.eps}), inputs);
  g.set(0, swapped(gradients[0], axis));
  g.set(1, gradients[1]);
  g.set(2, gradients[2]);
}

OpDef layer_norm() {
  return general<LayerNormAttrs>(
      {.name = "LayerNorm",
       .aliases = {"_npx_layer_norm"},
       .python = {"nd.LayerNorm", "npx.layer_norm"},
       .doc = "(x - mean) / sqrt(variance + eps) * gamma + beta with mean and variance along one axis; gamma and beta have "
              "the extent of that axis.\n\n"
              "Raises ValueError for an axis out of range or parameters of another shape, TypeError for data that are not "
              "floats.",
       .inputs = {"data", "gamma", "beta"},
       .output_count = result_count,
       .compose = [](std::span<const NDArray> in, const LayerNormAttrs& a) -> std::vector<NDArray> {
         const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(in[0].ndim()), "LayerNorm");
         const int64_t extent = in[0].shape()[static_cast<size_t>(axis)];
         check(is_floating(in[0].dtype()), ErrorKind::kType, "LayerNorm: expected floats, got {}; convert with astype",
               dtype_name(in[0].dtype()));
         for (size_t i : {1, 2})
           check(in[i].shape() == Shape{extent}, ErrorKind::kValue,
                 "LayerNorm: expected {} of shape {} (axis {} of data {}), got {}", i == 1 ? "gamma" : "beta",
                 to_string(Shape{extent}), axis, to_string(in[0].shape()), to_string(in[i].shape()));
         const OpDef& rows = find_op("_layer_norm");
         const NDArray inputs[] = {swapped(in[0], axis), in[1], in[2]};
         LayerNormAttrs last = a;
         last.axis = -1;
         std::vector<NDArray> results = invoke_all(rows, make_attrs(last), inputs);
         results[0] = swapped(results[0], axis);
         for (size_t k = 1; k < results.size(); ++k) {
           Shape shape = in[0].shape();
           shape[static_cast<size_t>(axis)] = 1;
           // The mean has the remaining axes in the order of the swap.
           Shape order = results[0].shape();
           std::swap(order[static_cast<size_t>(axis)], order.back());
           order.back() = 1;
           results[k] = swapped(call("_reshape_to", {results[k]}, {{"shape", order}}), axis);
           results[k] = call("_reshape_to", {contiguous(results[k])}, {{"shape", shape}});
         }
         return results;
       },
       .gradient = gradient,
       .saves_inputs = 0b011,
       .samples = {Sample({uniform({2, 4}), uniform({4}), uniform({4})}),
                   Sample({uniform({2, 3, 4}), uniform({3}), uniform({3})}, make_attrs(LayerNormAttrs{.axis = 1}))}});
}

OpDef rows_forward() {
  return general<LayerNormAttrs>({.name = "_layer_norm",
                                  .doc = "Layer normalisation along the last axis.",
                                  .inputs = {"data", "gamma", "beta"},
                                  .output_count = result_count,
                                  .infer = [](Infer& i, const LayerNormAttrs& a) {
                                    i.output(i.shape(0), i.dtype(0));
                                    Shape rows = i.shape(0);
                                    rows.pop_back();
                                    for (size_t k = 1; k < result_count(a); ++k) i.output(rows, i.dtype(0));
                                    i.cost(100 + static_cast<double>(i.size(0)) * 0.5);
                                  },
                                  .kernel = [](KernelContext& c, const LayerNormAttrs& a) {
                                    layer_norm_forward(c, a.eps);
                                  }});
}

OpDef rows_backward() {
  return general<EpsAttrs>({.name = "_backward_LayerNorm",
                            .doc = "Gradients of layer normalisation along the last axis: of data, gamma and beta.",
                            .inputs = {"gradient", "data", "gamma"},
                            .outputs = 3,
                            .infer = [](Infer& i, const EpsAttrs&) {
                              i.output(i.shape(1), i.dtype(1));
                              i.output(i.shape(2), i.dtype(2));
                              i.output(i.shape(2), i.dtype(2));
                              i.cost(100 + static_cast<double>(i.size(0)));
                            },
                            .kernel = [](KernelContext& c, const EpsAttrs& a) { layer_norm_backward(c, a.eps); }});
}

}  // namespace

std::vector<OpDef> layer_norm_operators() { return {layer_norm(), rows_forward(), rows_backward()}; }

}  // namespace headrace
