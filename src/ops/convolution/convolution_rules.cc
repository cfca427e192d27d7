#include "ops/convolution/convolution_rules.h"

#include <algorithm>

#include "base/check.h"
#include "op/gradient.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/linalg/matrix.h"

namespace headrace {
namespace {

template <class A>
Window window(const char* name, const A& a, int64_t least_filters) {
  const size_t spatial = a.kernel.size();
  check(spatial >= 1 && spatial <= 3, ErrorKind::kRuntime, "{}: kernel must have 1, 2 or 3 numbers, got {}", name,
        to_string(a.kernel));
  constexpr int64_t kMost = int64_t{1} << 31;
  check(a.num_filter >= least_filters && a.num_filter < kMost, ErrorKind::kRuntime,
        "{}: num_filter must be positive and below 2^31, got {}", name, a.num_filter);
  check(a.num_group > 0 && a.num_group < kMost, ErrorKind::kRuntime,
        "{}: num_group must be positive and below 2^31, got {}", name, a.num_group);
  require_layout(name, a.layout, spatial);
  return {.kernel = per_axis(name, "kernel", a.kernel, spatial, 1, 1),
          .stride = per_axis(name, "stride", a.stride, spatial, 1, 1),
          .dilate = per_axis(name, "dilate", a.dilate, spatial, 1, 1),
          .pad = per_axis(name, "pad", a.pad, spatial, 0, 0),
          .groups = a.num_group,
          .channels_last = is_channels_last(a.layout)};
}

}  // namespace

WindowRange Window::inside(size_t i, int64_t element, int64_t extent, int64_t places) const noexcept {
  const int64_t shift = element * dilate[i] - pad[i], step = stride[i];
  const int64_t begin = shift >= 0 ? 0 : (step - 1 - shift) / step;
  const int64_t past = extent - shift;  // windows that begin before it reach an element inside
  const int64_t end = past <= 0 ? 0 : std::min(places, (past + step - 1) / step);
  return {std::min(begin, end), end};
}

Window window_of(const char* name, const ConvolutionAttrs& a) { return window(name, a, 1); }
// The gradient of a convolution of no channels has none either.
Window window_of(const char* name, const DeconvolutionAttrs& a) { return window(name, a, 0); }

void require_rank(const char* name, const Window& w, const Shape& data) {
  check(data.size() == w.spatial() + 2, ErrorKind::kRuntime,
        "{}: data must have {} axes for kernel {} (batch, channels and one per number of kernel), got shape {}", name,
        w.spatial() + 2, to_string(w.kernel), to_string(data));
}

void require_inputs(const Infer& i, const Window& w, bool no_bias, size_t further) {
  const size_t count = (no_bias ? 2 : 3) + further;
  i.require(i.input_count() == count, ErrorKind::kType, "{} arrays are needed with no_bias={}, got {}", count,
            no_bias ? "True" : "False", i.input_count());
  require_rank(i.name(), w, i.shape(0));
  i.require(is_floating(i.dtype(0)), ErrorKind::kRuntime, "expected floats, got {}; convert with astype",
            dtype_name(i.dtype(0)));
  for (size_t k = 1; k < count - further; ++k)
    i.require(i.dtype(k) == i.dtype(0), ErrorKind::kRuntime, "data holds {}, but {} holds {}; convert one with astype",
              dtype_name(i.dtype(0)), k == 1 ? "weight" : "bias", dtype_name(i.dtype(k)));
}

void require_shape(const Infer& i, size_t k, const char* what, const Shape& shape, bool channels_last) {
  const Shape expected = as_user_sees(shape, channels_last);
  i.require(i.shape(k) == expected, ErrorKind::kRuntime, "expected {} of shape {} for data of shape {}, got {}", what,
            to_string(expected), to_string(i.shape(0)), to_string(i.shape(k)));
}

Shape weight_shape(const Window& w, int64_t filters, int64_t channels) {
  Shape shape{filters, channels == -1 ? -1 : channels / w.groups};
  for (int64_t extent : w.kernel) shape.push_back(extent);
  return shape;
}

ConvolutionAttrs convolution_attrs(const Window& w, int64_t filters, const Layout& layout) {
  ConvolutionAttrs a;
  a.kernel = w.kernel;
  a.stride = w.stride;
  a.dilate = w.dilate;
  a.pad = w.pad;
  a.num_filter = filters;
  a.num_group = w.groups;
  a.no_bias = true;
  a.layout = layout;
  return a;
}

AttrsPtr gradient_attrs(const Window& w, const Layout& layout, const NDArray& out) {
  const int64_t filters = channels_second(out.shape(), w.channels_last)[1];
  return make_attrs(convolution_attrs(w, filters, layout));
}

Shape convolved_shape(const Infer& i, const Window& w, const Shape& data, int64_t filters) {
  Shape shape{data[0], filters};
  for (size_t k = 0; k < w.spatial(); ++k) {
    const int64_t room = data[k + 2] + 2 * w.pad[k] - w.span(k);
    i.require(room >= 0, ErrorKind::kRuntime,
              "the window spans {} elements along spatial axis {}, but data has {} there with its padding; expected a "
              "smaller kernel or dilate, or more pad",
              w.span(k), k, data[k + 2] + 2 * w.pad[k]);
    shape.push_back(room / w.stride[k] + 1);
  }
  return shape;
}

Shape require_convolution(const Infer& i, const ConvolutionAttrs& a, size_t further) {
  const Window w = window_of(i.name(), a);
  require_inputs(i, w, a.no_bias, further);
  const Shape data = channels_second(i.shape(0), w.channels_last);
  i.require(data[1] % w.groups == 0 && a.num_filter % w.groups == 0, ErrorKind::kRuntime,
            "channels of data and num_filter must be multiples of num_group={}, got {} channels and num_filter={}",
            w.groups, data[1], a.num_filter);
  const Shape weight = weight_shape(w, a.num_filter, data[1]);
  require_shape(i, 1, "weight", weight, w.channels_last);
  if (!a.no_bias) require_shape(i, 2, "bias", Shape{a.num_filter}, false);
  return convolved_shape(i, w, data, a.num_filter);
}

Shape infer_convolution(Infer& i, const ConvolutionAttrs& a, size_t further) {
  const Shape out = require_convolution(i, a, further);
  const bool last = is_channels_last(a.layout);
  output_image(i, out, i.dtype(0), last);
  set_convolution_cost(i, channels_second(i.shape(1), last), out, 1);
  return out;
}

ConvolutionProblem problem_of(ConvolutionPass pass, const Window& w, const Tensor& data, const Tensor& weight,
                              const Tensor& out) {
  ConvolutionProblem p{.pass = pass, .window = w};
  p.data = image_of(data, w.channels_last);
  p.weight = image_of(weight, w.channels_last);
  p.out = image_of(out, w.channels_last);
  return p;
}

void run_convolution(KernelContext& c, const ConvolutionAttrs& a, ConvolutionProblem::After after) {
  const Window w = window_of(c.name(), a);
  ConvolutionProblem p = problem_of(ConvolutionPass::kForward, w, c.input(0), c.input(1), c.output(0));
  if (!a.no_bias) p.bias = const_cast<void*>(packed_data(c, c.input(2)));
  p.after = std::move(after);
  convolve(c, p);
}

namespace {

// Of the data that give `out`: the batch, and spatial axes along which the window moves by 1.
Shape data_shape(const Window& w, const Shape& out) {
  Shape data{out[0], -1};
  for (size_t k = 0; k < w.spatial(); ++k)
    data.push_back(w.stride[k] == 1 && out[k + 2] != -1 ? out[k + 2] - 1 + w.span(k) - 2 * w.pad[k] : -1);
  return data;
}

// Of the result of data of which extents may be unknown; those that leave no room for a window are, too.
Shape open_result(const Window& w, const Shape& data, int64_t filters) {
  Shape shape{data[0], filters};
  for (size_t k = 0; k < w.spatial(); ++k) {
    const int64_t room = data[k + 2] + 2 * w.pad[k] - w.span(k);
    shape.push_back(data[k + 2] == -1 || room < 0 ? -1 : room / w.stride[k] + 1);
  }
  return shape;
}

}  // namespace

// The shapes of weight and bias follow from that of data, some of data from that of the result.
void complete_convolution(Completion& c, const ConvolutionAttrs& a) {
  const Window w = window_of(c.name(), a);
  if (c.has_output_rank() && c.output().size() == w.spatial() + 2)
    c.set(0, as_user_sees(data_shape(w, channels_second(c.output(), w.channels_last)), w.channels_last));
  if (c.has_rank(0)) require_rank(c.name(), w, c.shape(0));
  const Shape data = c.has_rank(0) ? channels_second(c.shape(0), w.channels_last) : Shape(w.spatial() + 2, -1);
  c.set(1, as_user_sees(weight_shape(w, a.num_filter, data[1]), w.channels_last));
  if (!a.no_bias) c.set(2, Shape{a.num_filter});
  c.set_output(0, as_user_sees(open_result(w, data, a.num_filter), w.channels_last));
}

void set_weight_gradient(Gradient& g, const Window& w, const Layout& layout, const NDArray& data, const NDArray& out) {
  static const OpDef& op = find_op("_convolution_weight_gradient");
  const NDArray inputs[] = {data, out};
  g.set(1, op, gradient_attrs(w, layout, out), inputs);
}

void set_bias_gradient(Gradient& g, const NDArray& head, bool channels_last) {
  static const OpDef& sum = find_op("_sum_axes");
  Shape axes;
  const auto ndim = static_cast<int64_t>(head.ndim());
  for (int64_t k = 0; k < ndim; ++k)
    if (k != (channels_last ? ndim - 1 : 1)) axes.push_back(k);
  g.set(2, sum, attrs_of(sum, {{"axis", axes}}), {&head, 1});
}

NDArray transposed_convolution(const NDArray& out, const NDArray& weight, const Window& w, const Layout& layout,
                               const Shape& like) {
  static const OpDef& op = find_op("_transposed_convolution");
  const Shape data = channels_second(like, w.channels_last), from = channels_second(out.shape(), w.channels_last);
  DeconvolutionAttrs a;
  a.kernel = w.kernel;
  a.stride = w.stride;
  a.dilate = w.dilate;
  a.pad = w.pad;
  for (size_t k = 0; k < w.spatial(); ++k)
    a.adj.push_back(data[k + 2] - ((from[k + 2] - 1) * w.stride[k] - 2 * w.pad[k] + w.span(k)));
  a.num_filter = data[1];
  a.num_group = w.groups;
  a.layout = layout;
  return call(op, make_attrs(a), {out, weight});
}

NDArray cut_convolution(const NDArray& data, const NDArray& weight, const Window& w, const Layout& layout,
                        const Shape& like) {
  static const OpDef& op = find_op("Convolution");
  const int64_t filters = channels_second(like, w.channels_last)[1];
  NDArray result = call(op, make_attrs(convolution_attrs(w, filters, layout)), {data, weight});
  if (result.shape() == like) return result;
  OptionalInts begin(like.size(), 0), end(like.begin(), like.end());
  return call("slice", {result}, {{"begin", begin}, {"end", end}});
}

}  // namespace headrace
