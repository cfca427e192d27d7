// Pooling and its gradient. The gradient is linear in what flows into the result; the transpose of that, the change of
// the result when data change, is the gradient's own gradient.

#include "ops/pooling/pooling.h"

#include "base/check.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/quantization.h"
#include "op/rule.h"

namespace headrace {
namespace {

struct Pooled {
  PoolWindow window;
  Shape result;  // channels second
};

PoolKind kind_of(const std::string& name) {
  if (name == "max") return PoolKind::kMax;
  if (name == "avg") return PoolKind::kAverage;
  return name == "sum" ? PoolKind::kSum : PoolKind::kNorm;
}

int64_t windows_along(const PoolingAttrs& a, int64_t extent, int64_t kernel, int64_t stride, int64_t pad) {
  const int64_t padded = extent + 2 * pad, up = stride - 1;
  if (a.pooling_convention == "same") return (padded + up) / stride;
  return (padded - kernel + (a.pooling_convention == "full" ? up : 0)) / stride + 1;
}

// Numbers beyond those of the spatial axes are passed over, as in MXNet.
Shape first_numbers(const Shape& given, size_t spatial) {
  return given.size() <= spatial ? given : Shape(given.begin(), given.begin() + static_cast<ptrdiff_t>(spatial));
}

// `data` has channels second.
Pooled pooled(const char* name, const PoolingAttrs& a, const Shape& data) {
  const size_t spatial = data.size() - 2;
  Pooled p;
  p.window.kind = kind_of(a.pool_type);
  p.window.counts_padding = a.count_include_pad.value_or(true);
  p.window.p = a.p_value.value_or(0);
  check(p.window.kind != PoolKind::kNorm || (p.window.p >= 1 && p.window.p <= 3), ErrorKind::kRuntime,
        "{}: pool_type 'lp' needs a p_value of 1, 2 or 3, got {}", name,
        a.p_value ? std::to_string(*a.p_value) : "None");
  p.result = {data[0], data[1]};
  if (a.global_pool) {
    p.window.stride = Shape(spatial, 1);
    p.window.pad = Shape(spatial, 0);
    for (size_t k = 0; k < spatial; ++k) {
      check(data[k + 2] > 0, ErrorKind::kRuntime, "{}: there is nothing to pool in data of shape {}", name,
            to_string(data));
      p.window.kernel.push_back(data[k + 2]);
      p.result.push_back(1);
    }
    return p;
  }
  check(a.kernel.size() == spatial, ErrorKind::kRuntime,
        "{}: kernel must have {} numbers for data of shape {}, one per spatial axis, got {}", name, spatial,
        to_string(data), to_string(a.kernel));
  p.window.kernel = per_axis(name, "kernel", a.kernel, spatial, 1, 1);
  p.window.stride = per_axis(name, "stride", first_numbers(a.stride, spatial), spatial, 1, 1);
  p.window.pad = per_axis(name, "pad", first_numbers(a.pad, spatial), spatial, 0, 0);
  check(a.pooling_convention != "same" || std::ranges::count(p.window.pad, 0) == static_cast<int64_t>(spatial),
        ErrorKind::kRuntime, "{}: pooling_convention 'same' pads as it needs to; leave pad {} away", name,
        to_string(a.pad));
  for (size_t k = 0; k < spatial; ++k) {
    const int64_t kernel = p.window.kernel[k], pad = p.window.pad[k], extent = data[k + 2];
    check(
        extent > 0 && kernel <= extent + 2 * pad, ErrorKind::kRuntime,
        "{}: kernel is {} along spatial axis {}, but data has {} there with its padding; expected a smaller kernel or "
        "more pad",
        name, kernel, k, extent + 2 * pad);
    p.result.push_back(windows_along(a, extent, kernel, p.window.stride[k], pad));
  }
  return p;
}

bool channels_last(const PoolingAttrs& a) { return is_channels_last(a.layout); }

// Raises unless input k can be pooled; gives its shape, channels second.
Shape data_shape(const Infer& i, size_t k, const PoolingAttrs& a) {
  const Shape& shape = i.shape(k);
  i.require(shape.size() >= 3 && shape.size() <= 5, ErrorKind::kRuntime,
            "data must have 3, 4 or 5 axes (batch, channels and the spatial ones), got shape {}", to_string(shape));
  i.require(i.dtype(k) != DType::kBool, ErrorKind::kRuntime, "expected numbers, got bool; convert with astype");
  require_layout(i.name(), a.layout, shape.size() - 2);
  return channels_second(shape, channels_last(a));
}

double cost_of(const Infer& i) {
  double bytes = 0;
  for (size_t k = 0; k < i.input_count(); ++k)
    bytes += static_cast<double>(i.size(k)) * static_cast<double>(item_size(i.dtype(k)));
  return 1000 + bytes * 0.2;
}

void complete_pooling(Completion& c, const PoolingAttrs& a) {
  const bool last = channels_last(a);
  if (c.has_output_rank() && c.output().size() >= 3) {
    Shape data = channels_second(c.output(), last);
    std::fill(data.begin() + 2, data.end(), -1);
    c.set(0, as_user_sees(data, last));
  }
  if (!c.has_rank(0) || c.shape(0).size() < 3 || c.shape(0).size() > 5) return;
  const Shape data = channels_second(c.shape(0), last);
  const size_t spatial = data.size() - 2;
  Shape result(data.begin(), data.begin() + 2);
  if (a.global_pool) {
    for (size_t k = 0; k < spatial; ++k) result.push_back(1);
    return c.set_output(0, as_user_sees(result, last));
  }
  if (a.kernel.size() != spatial) return;
  const Shape kernel = per_axis(c.name(), "kernel", a.kernel, spatial, 1, 1),
              stride = per_axis(c.name(), "stride", a.stride, spatial, 1, 1),
              pad = per_axis(c.name(), "pad", a.pad, spatial, 0, 0);
  for (size_t k = 0; k < spatial; ++k) {
    const int64_t extent = data[k + 2];
    const bool has_room = extent > 0 && kernel[k] <= extent + 2 * pad[k];
    result.push_back(has_room ? windows_along(a, extent, kernel[k], stride[k], pad[k]) : -1);
  }
  c.set_output(0, as_user_sees(result, last));
}

// Of the gradient and the tangent: (gradient or change, data).
void infer_linear(Infer& i, const PoolingAttrs& a, bool from_result) {
  const Shape data = data_shape(i, 1, a);
  const Shape result = pooled(i.name(), a, data).result;
  const Shape expected = as_user_sees(from_result ? result : data, channels_last(a));
  i.require(i.shape(0) == expected && i.dtype(0) == i.dtype(1), ErrorKind::kRuntime,
            "expected an array of shape {} and the dtype of data, got {} of {}", to_string(expected),
            to_string(i.shape(0)), dtype_name(i.dtype(0)));
  output_image(i, from_result ? data : result, i.dtype(1), channels_last(a));
  i.cost(2 * cost_of(i));
}

void run_gradient(KernelContext& c, const PoolingAttrs& a) {
  const bool last = channels_last(a);
  const Image data = image_of(c.input(1), last);
  const Pooled p = pooled(c.name(), a, data.shape);
  pool_back(
      c,
      {.window = p.window, .data = data, .result = image_of(c.input(0), last), .moving = image_of(c.output(0), last)});
}

void run_tangent(KernelContext& c, const PoolingAttrs& a) {
  const bool last = channels_last(a);
  const Image data = image_of(c.input(1), last);
  const Pooled p = pooled(c.name(), a, data.shape);
  pool_tangent(
      c,
      {.window = p.window, .data = data, .result = image_of(c.output(0), last), .moving = image_of(c.input(0), last)});
}

// The slopes of averages, sums and maxima do not change with data; those of norms do.
void refuse_curvature(const Gradient& g, const PoolingAttrs& a) {
  check(a.pool_type != "lp" || a.p_value.value_or(0) == 1 || !g.wants(1), ErrorKind::kRuntime,
        "Pooling: the second derivative of pool_type 'lp' is not there; expected max, avg or sum");
}

// MXNet counts where the maxima were when oneDNN computes them.
size_t counted_outputs(const PoolingAttrs& a) {
  return a.pool_type == "max" && !a.kernel.empty() && !channels_last(a) ? 2 : 1;
}

PoolingAttrs overlapping_maxima() { return {.kernel = {3, 2}, .stride = {2, 1}, .pad = {1, 1}}; }
PoolingAttrs last_averages() {
  return {.kernel = {3}, .pool_type = "avg", .pad = {1}, .count_include_pad = false, .layout = "NWC"};
}

OpDef pooling() {
  return general<PoolingAttrs>({
      .name = "Pooling",
      .aliases = {"_npx_pooling"},
      .python = {"nd.Pooling", "npx.pooling"},
      .doc = R"(The maximum, average, sum or Lp norm of windows over images with one, two or three spatial axes.

Of equal maxima the first takes the gradient. The Lp norm is (sum of x^p)^(1/p), without absolute values, as MXNet has
it. An average counts the padding (count_include_pad) but never what lies beyond it.
Raises MXNetError when attributes and shapes do not fit.)",
      .counted_outputs = counted_outputs,
      .complete = complete_pooling,
      .infer = infer_pooling,
      .kernel =
          [](KernelContext& c, const PoolingAttrs& a) {
            run_pooling(c, a, [](KernelContext& context, const PoolingProblem& p) {
              pool(context, p);
              return true;
            });
          },
      .quantization =
          quantization({.becomes = "_contrib_quantized_pooling",
                        .where = [](const PoolingAttrs& a) { return a.pool_type == "max" || a.pool_type == "avg"; }}),
      .gradient =
          [](Gradient& g, const PoolingAttrs&) {
            static const OpDef& op = find_op("_backward_Pooling");
            const NDArray inputs[] = {g.head(), g.input(0)};
            g.set(0, op, g.attrs(), inputs);
          },
      .strided_inputs = true,
      .samples =
          {{{uniform({2, 3, 5, 6})}, make_attrs(overlapping_maxima())},
           {{uniform({2, 3, 5, 6})},
            make_attrs(PoolingAttrs{
                .kernel = {2, 2}, .pool_type = "avg", .pooling_convention = "full", .stride = {2, 2}, .pad = {1, 1}})},
           {{uniform({2, 7, 3})}, make_attrs(last_averages())},
           {{uniform({1, 2, 3, 4, 3})}, make_attrs(PoolingAttrs{.pool_type = "sum", .global_pool = true})},
           {{uniform({1, 2, 3, 4}, 0.5, 2)},
            make_attrs(PoolingAttrs{.kernel = {2, 2}, .pool_type = "lp", .p_value = 3})}},
  });
}

OpDef pooling_gradient() {
  return general<PoolingAttrs>({
      .name = "_backward_Pooling",
      .doc = "The gradient of what was pooled.",
      .inputs = {"gradient", "data"},
      .infer = [](Infer& i, const PoolingAttrs& a) { infer_linear(i, a, true); },
      .kernel = run_gradient,
      .gradient =
          [](Gradient& g, const PoolingAttrs& a) {
            refuse_curvature(g, a);
            if (g.wants(0)) g.set(0, call(find_op("_pooling_tangent"), g.attrs(), {g.head(), g.input(1)}));
          },
      .saves_inputs = 0b10,
      .strided_inputs = true,
      .samples = {{{uniform({2, 3, 3, 7}), uniform({2, 3, 5, 6})}, make_attrs(overlapping_maxima())},
                  {{uniform({2, 7, 3}), uniform({2, 7, 3})}, make_attrs(last_averages())}},
  });
}

OpDef pooling_tangent() {
  return general<PoolingAttrs>({
      .name = "_pooling_tangent",
      .doc = "The change of a pooled image when data change.",
      .inputs = {"change", "data"},
      .infer = [](Infer& i, const PoolingAttrs& a) { infer_linear(i, a, false); },
      .kernel = run_tangent,
      .gradient =
          [](Gradient& g, const PoolingAttrs& a) {
            refuse_curvature(g, a);
            if (g.wants(0)) g.set(0, call(find_op("_backward_Pooling"), g.attrs(), {g.head(), g.input(1)}));
          },
      .saves_inputs = 0b10,
      .strided_inputs = true,
      .samples = {{{uniform({2, 3, 5, 6}), uniform({2, 3, 5, 6})}, make_attrs(overlapping_maxima())},
                  {{uniform({2, 7, 3}), uniform({2, 7, 3})}, make_attrs(last_averages())}},
  });
}

}  // namespace

void infer_pooling(Infer& i, const PoolingAttrs& a) {
  output_image(i, pooled(i.name(), a, data_shape(i, 0, a)).result, i.dtype(0), channels_last(a));
  i.cost(cost_of(i));
}

bool run_pooling(KernelContext& c, const PoolingAttrs& a, Pool pool) {
  const Image data = image_of(c.input(0), channels_last(a));
  const Pooled p = pooled(c.name(), a, data.shape);
  return pool(c, {.window = p.window, .data = data, .result = image_of(c.output(0), channels_last(a))});
}

Operators pooling_operators() { return {pooling(), pooling_gradient(), pooling_tangent()}; }

}  // namespace headrace
