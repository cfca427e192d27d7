// Deconvolution: the transpose of a convolution that leads from the result to data.

#include <algorithm>

#include "base/check.h"
#include "op/gradient.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/convolution/convolution_rules.h"
#include "ops/linalg/matrix.h"

namespace headrace {
namespace {

// The window, padded as target_shape asks, and the shape of the result; shapes have channels second.
struct Transposed {
  Window window;
  Shape result;
};

bool has_target(const DeconvolutionAttrs& a) {
  return std::ranges::any_of(a.target_shape, [](int64_t extent) { return extent != 0; });
}

Transposed transposed(const char* name, const DeconvolutionAttrs& a, const Shape& data) {
  Transposed t{window_of(name, a), {data[0], a.num_filter}};
  Window& w = t.window;
  const Shape adj = per_axis(name, "adj", a.adj, w.spatial(), 0, 0);
  const Shape target = per_axis(name, "target_shape", a.target_shape, w.spatial(), 0, 0);
  for (size_t k = 0; k < w.spatial(); ++k) {
    const int64_t whole = (data[k + 2] - 1) * w.stride[k] + w.span(k);
    if (has_target(a)) {
      check(target[k] > 0 && target[k] <= whole, ErrorKind::kRuntime,
            "{}: target_shape must be between 1 and {} along spatial axis {}, got {}", name, whole, k, target[k]);
      w.pad[k] = (whole - target[k] + 1) / 2;
      t.result.push_back(target[k]);
      continue;
    }
    t.result.push_back(whole - 2 * w.pad[k] + adj[k]);
    check(t.result.back() > 0, ErrorKind::kRuntime,
          "{}: pad={} leaves {} elements along spatial axis {}; expected less pad or a larger kernel or stride", name,
          w.pad[k], t.result.back(), k);
  }
  return t;
}

void infer_deconvolution(Infer& i, const DeconvolutionAttrs& a) {
  const Window w = window_of(i.name(), a);
  require_inputs(i, w, a.no_bias, 0);
  const Shape data = channels_second(i.shape(0), w.channels_last);
  i.require(data[1] % w.groups == 0 && a.num_filter % w.groups == 0, ErrorKind::kRuntime,
            "channels of data and num_filter must be multiples of num_group={}, got {} channels and num_filter={}",
            w.groups, data[1], a.num_filter);
  const Shape weight = weight_shape(w, data[1], a.num_filter);
  require_shape(i, 1, "weight", weight, w.channels_last);
  if (!a.no_bias) require_shape(i, 2, "bias", Shape{a.num_filter}, false);
  output_image(i, transposed(i.name(), a, data).result, i.dtype(0), w.channels_last);
  set_convolution_cost(i, weight, data, 1);
}

// With a larger adj the last elements are beyond the reach of every window; gradients alone ask for them.
void require_reachable(const Infer& i, const DeconvolutionAttrs& a) {
  if (has_target(a)) return;
  const Window w = window_of(i.name(), a);
  const Shape adj = per_axis(i.name(), "adj", a.adj, w.spatial(), 0, 0);
  for (size_t k = 0; k < w.spatial(); ++k)
    i.require(adj[k] < w.stride[k], ErrorKind::kRuntime,
              "adj must be smaller than stride, got adj={} and stride={} along spatial axis {}", adj[k], w.stride[k],
              k);
}

void run_deconvolution(KernelContext& c, const DeconvolutionAttrs& a) {
  const bool last = is_channels_last(a.layout);
  const Transposed t = transposed(c.name(), a, channels_second(c.input(0).shape, last));
  ConvolutionProblem p = problem_of(ConvolutionPass::kData, t.window, c.output(0), c.input(1), c.input(0));
  if (!a.no_bias) p.bias = const_cast<void*>(packed_data(c, c.input(2)));
  convolve(c, p);
}

void deconvolution_back(Gradient& g, const DeconvolutionAttrs& a) {
  const bool last = is_channels_last(a.layout);
  const NDArray &data = g.input(0), &weight = g.input(1);
  const Window w = transposed(g.op().name.c_str(), a, channels_second(data.shape(), last)).window;
  if (g.wants(0)) g.set(0, cut_convolution(g.head(), weight, w, a.layout, data.shape()));
  if (g.wants(1)) set_weight_gradient(g, w, a.layout, g.head(), data);
  if (!a.no_bias && g.wants(2)) set_bias_gradient(g, g.head(), last);
}

void complete_deconvolution(Completion& c, const DeconvolutionAttrs& a) {
  const Window w = window_of(c.name(), a);
  if (c.has_rank(0)) require_rank(c.name(), w, c.shape(0));
  const Shape data = c.has_rank(0) ? channels_second(c.shape(0), w.channels_last) : Shape(w.spatial() + 2, -1);
  c.set(1, as_user_sees(weight_shape(w, data[1], a.num_filter), w.channels_last));
  if (!a.no_bias) c.set(2, Shape{a.num_filter});
  const bool is_sized = std::count(data.begin() + 2, data.end(), -1) == 0;
  Shape result = is_sized ? transposed(c.name(), a, data).result : Shape(data.size(), -1);
  result[0] = data[0];
  result[1] = a.num_filter;
  c.set_output(0, as_user_sees(result, w.channels_last));
}

}  // namespace

Operators deconvolution_operators() {
  OpDef deconvolution = general<DeconvolutionAttrs>({
      .name = "Deconvolution",
      .aliases = {"_npx_deconvolution"},
      .python = {"nd.Deconvolution", "npx.deconvolution"},
      .doc = R"(Transposed convolution of images with one, two or three spatial axes, plus bias.

data has shape (n, channels, *spatial), weight (channels, num_filter / num_group, *kernel), bias (num_filter,); all hold
one floating dtype. The result has (extent - 1) stride - 2 pad + dilate (kernel - 1) + 1 + adj elements per axis, or
target_shape. Raises MXNetError when attributes, shapes or dtypes do not fit.)",
      .inputs = {"data", "weight", "bias"},
      .optional_inputs = 1,
      .input_count = [](const DeconvolutionAttrs& a) -> size_t { return a.no_bias ? 2 : 3; },
      .complete = complete_deconvolution,
      .infer = infer_deconvolution,
      .kernel = run_deconvolution,
      .gradient = deconvolution_back,
      .saves_inputs = 0b011,
      .strided_inputs = true,
      .samples =
          {{{uniform({2, 4, 3, 4}), uniform({4, 3, 3, 2}), uniform({3})},
            make_attrs(DeconvolutionAttrs{
                .kernel = {3, 2}, .stride = {2, 1}, .pad = {1, 0}, .adj = {1, 0}, .num_filter = 3, .no_bias = false})},
           {{uniform({2, 5, 4}), uniform({4, 3, 2})},
            make_attrs(DeconvolutionAttrs{.kernel = {3},
                                          .stride = {2},
                                          .target_shape = {10},
                                          .num_filter = 4,
                                          .num_group = 2,
                                          .layout = "NWC"})}},
  });
  OpDef transposed = deconvolution;
  transposed.name = "_transposed_convolution";
  transposed.aliases = transposed.python = {};
  transposed.doc = "Deconvolution with any adj: what gradients of convolutions are.";
  deconvolution.infer = [](Infer& i, const Attrs& attrs) {
    require_reachable(i, attrs.as<DeconvolutionAttrs>());
    infer_deconvolution(i, attrs.as<DeconvolutionAttrs>());
  };
  return {std::move(deconvolution), std::move(transposed)};
}

}  // namespace headrace
