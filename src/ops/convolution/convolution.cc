// Convolution, the gradient of its weight, and both gradients at once. The gradient of its data is a Deconvolution, so
// derivatives of every order are made of these four.

#include "ops/convolution/convolution.h"

#include "headrace/arithmetic.hpp"
#include "op/gradient.h"
#include "op/kernel.h"
#include "op/quantization.h"
#include "op/rule.h"
#include "ops/convolution/convolution_rules.h"

namespace headrace {
namespace {

// Each of the two uses all cores, and side by side they would only take them from each other: they are one operation.
void set_gradients(Gradient& g, const Window& w, const Layout& layout) {
  static const OpDef& op = find_op("_backward_Convolution");
  const NDArray inputs[] = {g.input(0), g.input(1), g.head()};
  g.set(0, op, gradient_attrs(w, layout, g.head()), inputs);
}

void convolution_back(Gradient& g, const ConvolutionAttrs& a) {
  const Window w = window_of(g.op().name.c_str(), a);
  if (g.wants(0) && g.wants(1))
    set_gradients(g, w, a.layout);
  else if (g.wants(0))
    g.set(0, transposed_convolution(g.head(), g.input(1), w, a.layout, g.input(0).shape()));
  else if (g.wants(1))
    set_weight_gradient(g, w, a.layout, g.input(0), g.head());
  if (!a.no_bias && g.wants(2)) set_bias_gradient(g, g.head(), w.channels_last);
}

OpDef convolution() {
  return general<ConvolutionAttrs>({
      .name = "Convolution",
      .aliases = {"_npx_convolution", "Convolution_v1"},
      .python = {"nd.Convolution", "nd.Convolution_v1", "npx.convolution"},
      .doc = R"(Convolution (without flipping the kernel) of images with one, two or three spatial axes, plus bias.

data has shape (n, channels, *spatial), weight (num_filter, channels / num_group, *kernel), bias (num_filter,); all hold
one floating dtype. The result has floor((extent + 2 pad - dilate (kernel - 1) - 1) / stride) + 1 elements per axis; its
shape has channels second while its memory has them last, which is faster.
Raises MXNetError when attributes, shapes or dtypes do not fit.)",
      .inputs = {"data", "weight", "bias"},
      .optional_inputs = 1,
      .input_count = [](const ConvolutionAttrs& a) -> size_t { return a.no_bias ? 2 : 3; },
      .complete = complete_convolution,
      .infer = [](Infer& i, const ConvolutionAttrs& a) { infer_convolution(i, a, 0); },
      .kernel = [](KernelContext& c, const ConvolutionAttrs& a) { run_convolution(c, a, {}); },
      .quantization = quantization({.becomes = "_contrib_quantized_conv", .is_worthwhile = true}),
      .gradient = convolution_back,
      .saves_inputs = 0b011,
      .strided_inputs = true,
      .samples =
          {{{uniform({2, 3, 5, 6}), uniform({4, 3, 3, 2}), uniform({4})},
            make_attrs(ConvolutionAttrs{
                .kernel = {3, 2}, .stride = {2, 1}, .dilate = {1, 2}, .pad = {1, 2}, .num_filter = 4})},
           {{uniform({2, 7, 4}), uniform({6, 3, 2})},
            make_attrs(ConvolutionAttrs{
                .kernel = {3}, .stride = {2}, .num_filter = 6, .num_group = 2, .no_bias = true, .layout = "NWC"})},
           {{uniform({1, 2, 3, 4, 3}), uniform({2, 1, 2, 3, 1}), uniform({2})},
            make_attrs(ConvolutionAttrs{.kernel = {2, 3, 1}, .num_filter = 2, .num_group = 2})}},
  });
}

// --- the gradient of the weight --------------------------------------------------------------------------------------

void infer_weight_gradient(Infer& i, const ConvolutionAttrs& a) {
  const Window w = window_of(i.name(), a);
  const Shape data = channels_second(i.shape(0), w.channels_last), out = channels_second(i.shape(1), w.channels_last);
  i.require(data.size() == w.spatial() + 2 && out.size() == data.size() && i.dtype(0) == i.dtype(1),
            ErrorKind::kRuntime, "expected data and gradient with {} spatial axes and one dtype, got shapes {} and {}",
            w.spatial(), to_string(i.shape(0)), to_string(i.shape(1)));
  const Shape most = convolved_shape(i, w, data, a.num_filter);
  bool fits = data[1] % w.groups == 0 && a.num_filter % w.groups == 0;
  for (size_t k = 0; k < out.size(); ++k) fits &= out[k] == most[k] || (k >= 2 && out[k] < most[k]);
  i.require(fits, ErrorKind::kRuntime, "expected a gradient of shape {} for data of shape {}, got {}", to_string(most),
            to_string(data), to_string(out));
  const Shape weight = weight_shape(w, a.num_filter, data[1]);
  i.output(as_user_sees(weight, w.channels_last), i.dtype(0));
  if (!a.no_bias) i.output(Shape{a.num_filter}, i.dtype(0));
  set_convolution_cost(i, weight, out, 1);
}

void run_weight_gradient(KernelContext& c, const ConvolutionAttrs& a) {
  const Window w = window_of(c.name(), a);
  ConvolutionProblem p = problem_of(ConvolutionPass::kWeight, w, c.input(0), c.output(0), c.input(1));
  if (!a.no_bias) p.bias = c.output(1).data;
  convolve(c, p);
}

// Bilinear in data and gradient: each derivative is a convolution with the head in place of the weight.
void weight_gradient_back(Gradient& g, const ConvolutionAttrs& a) {
  const Window w = window_of(g.op().name.c_str(), a);
  const NDArray &data = g.input(0), &out = g.input(1);
  if (g.wants(0) && g.has_head(0)) g.set(0, transposed_convolution(out, g.head(0), w, a.layout, data.shape()));
  if (!g.wants(1)) return;
  NDArray result;
  if (g.has_head(0)) result = cut_convolution(data, g.head(0), w, a.layout, out.shape());
  if (!a.no_bias && g.has_head(1)) {
    Shape along(out.ndim(), 1);
    along[w.channels_last ? out.ndim() - 1 : 1] = a.num_filter;
    NDArray repeated =
        call("_npi_broadcast_to", {call("_reshape_to", {g.head(1)}, {{"shape", along}})}, {{"shape", out.shape()}});
    result = result ? result + repeated : repeated;
  }
  g.set(1, result);
}

OpDef weight_gradient() {
  return general<ConvolutionAttrs>({
      .name = "_convolution_weight_gradient",
      .doc = "The gradient of a convolution's weight, and of its bias unless no_bias.",
      .inputs = {"data", "gradient"},
      .output_count = [](const ConvolutionAttrs& a) -> size_t { return a.no_bias ? 1 : 2; },
      .infer = infer_weight_gradient,
      .kernel = run_weight_gradient,
      .gradient = weight_gradient_back,
      .strided_inputs = true,
      .samples = {{{uniform({2, 3, 5, 6}), uniform({2, 4, 3, 8})},
                   make_attrs(ConvolutionAttrs{
                       .kernel = {3, 2}, .stride = {2, 1}, .dilate = {1, 2}, .pad = {1, 2}, .num_filter = 4})}},
  });
}

// --- the gradients of data and weight --------------------------------------------------------------------------------

void infer_gradients(Infer& i, const ConvolutionAttrs& a) {
  const Window w = window_of(i.name(), a);
  const Shape out = require_convolution(i, a, 1);
  require_shape(i, 2, "gradient", out, w.channels_last);
  output_image(i, channels_second(i.shape(0), w.channels_last), i.dtype(0), w.channels_last);
  i.output(i.shape(1), i.dtype(0));
  set_convolution_cost(i, channels_second(i.shape(1), w.channels_last), out, 2);
}

void run_gradients(KernelContext& c, const ConvolutionAttrs& a) {
  const Window w = window_of(c.name(), a);
  convolve(c, problem_of(ConvolutionPass::kData, w, c.output(0), c.input(1), c.input(2)));
  c.release_workspace();
  convolve(c, problem_of(ConvolutionPass::kWeight, w, c.input(0), c.output(1), c.input(2)));
}

// What follows from the head of the data's gradient, which is a transposed convolution, and from that of the weight's.
void gradients_back(Gradient& g, const ConvolutionAttrs& a) {
  const Window w = window_of(g.op().name.c_str(), a);
  const NDArray &data = g.input(0), &weight = g.input(1), &out = g.input(2);
  if (g.wants(0) && g.has_head(1)) g.set(0, transposed_convolution(out, g.head(1), w, a.layout, data.shape()));
  if (g.wants(1) && g.has_head(0)) set_weight_gradient(g, w, a.layout, g.head(0), out);
  if (!g.wants(2)) return;
  NDArray result;
  if (g.has_head(0)) result = cut_convolution(g.head(0), weight, w, a.layout, out.shape());
  if (g.has_head(1)) {
    const NDArray further = cut_convolution(data, g.head(1), w, a.layout, out.shape());
    result = result ? result + further : further;
  }
  g.set(2, result);
}

OpDef gradients() {
  return general<ConvolutionAttrs>({
      .name = "_backward_Convolution",
      .doc = "The gradients of a convolution's data and weight.",
      .inputs = {"data", "weight", "gradient"},
      .output_count = [](const ConvolutionAttrs&) -> size_t { return 2; },
      .infer = infer_gradients,
      .kernel = run_gradients,
      .gradient = gradients_back,
      .strided_inputs = true,
      .samples = {{{uniform({2, 3, 5, 6}), uniform({4, 3, 3, 2}), uniform({2, 4, 3, 8})},
                   make_attrs(ConvolutionAttrs{.kernel = {3, 2},
                                               .stride = {2, 1},
                                               .dilate = {1, 2},
                                               .pad = {1, 2},
                                               .num_filter = 4,
                                               .no_bias = true})}},
  });
}

}  // namespace

Operators convolution_operators() { return {convolution(), weight_gradient(), gradients()}; }

}  // namespace headrace
