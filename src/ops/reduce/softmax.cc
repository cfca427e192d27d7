#include "ops/reduce/softmax.h"

#include <utility>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"

namespace headrace {
namespace {

constexpr double kNsPerElement = 0.8;

struct SoftmaxBackwardAttrs {
  int64_t axis = -1;
  double scale = 1;
  static constexpr auto kFields = fields(field(&SoftmaxBackwardAttrs::axis, "axis", "Axis of the normalisation."),
                                         field(&SoftmaxBackwardAttrs::scale, "scale", "Factor on the input."));
};

void infer_softmax(Infer& i, const SoftmaxAttrs& a) {
  const Shape& shape = i.shape(0);
  if (!shape.empty()) {
    const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(shape.size()), i.name());
    if (i.input_count() > 1) {
      Shape rows = shape;
      rows.erase(static_cast<size_t>(axis));
      i.require(a.use_length, ErrorKind::kValue, "an array `length` was given; pass use_length=True to use it");
      i.require(i.shape(1) == rows, ErrorKind::kValue,
                "expected `length` of shape {} (data {} without axis {}), got {}; give one length per row",
                to_string(rows), to_string(shape), axis, to_string(i.shape(1)));
    }
  }
  i.require(!a.use_length || i.input_count() > 1, ErrorKind::kValue,
            "use_length=True needs the array `length`; pass the length of each row");
  i.require(!a.temperature || *a.temperature > 0, ErrorKind::kValue, "temperature must be positive, got {}",
            a.temperature.value_or(1));
  const DType dtype = a.dtype ? *a.dtype : is_floating(i.dtype(0)) ? i.dtype(0) : DType::kFloat32;
  i.require(is_floating(dtype), ErrorKind::kType, "the result must be of a float dtype, got {}; use dtype='float32'",
            dtype_name(dtype));
  i.output(shape, dtype);
  i.cost(100 + static_cast<double>(i.size(0)) * kNsPerElement);
}

void infer_softmax_backward(Infer& i, const SoftmaxBackwardAttrs& a) {
  const Shape& shape = i.shape(1);
  const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(shape.size()), i.name());
  Shape rows = shape;
  rows.erase(static_cast<size_t>(axis));
  expect_shape(i, 0, shape);
  expect_shape(i, 2, rows);
  expect_floats(i, 1);
  i.output(i.shape(1), i.dtype(1));
  i.cost(100 + static_cast<double>(i.size(0)) * kNsPerElement);
}

template <bool negate>
OpDef forward(SoftmaxKind kind, OpDef parts, const char* backward) {
  parts.inputs = {"data", "length"};
  parts.optional_inputs = 1;
  parts.input_count = [](const SoftmaxAttrs& a) -> size_t { return a.use_length ? 2 : 1; };
  parts.complete = keep_shape;
  parts.result_dtype = result_dtypes::floating;
  parts.infer = infer_softmax;
  parts.kernel = [kind](KernelContext& c, const SoftmaxAttrs& a) {
    softmax_forward(c, kind, a.axis, softmax_scale(a, negate));
  };
  parts.gradient = [backward](Gradient& g, const SoftmaxAttrs& a) {
    const OpDef& op = find_op(backward);
    const AttrsPtr attrs = make_attrs(SoftmaxBackwardAttrs{a.axis, softmax_scale(a, negate)});
    if (g.input(0).ndim() == 0) return g.set(0, zeros_like(g.input(0)));  // a constant
    const NDArray head = cast_to(g.head(), g.output().dtype());
    std::vector<NDArray> inputs{head, g.output()};
    if (g.input_count() > 1) inputs.push_back(g.input(1));
    if (g.output().dtype() == g.input(0).dtype())
      g.set(0, op, attrs, inputs);
    else
      g.set(0, cast_to(invoke_all(op, attrs, inputs)[0], g.input(0).dtype()));
  };
  parts.saves_inputs = 1u << 1;
  parts.saves_outputs = 1;
  parts.samples = {
      uniform({2, 3, 4}), Sample({uniform({2, 3, 4})}, make_attrs(SoftmaxAttrs{.axis = 1})),
      Sample({uniform({2, 3})}, make_attrs(SoftmaxAttrs{.temperature = 2.5})),
      Sample({uniform({2, 4}), values({1, 3}, DType::kInt32)}, make_attrs(SoftmaxAttrs{.use_length = true}))};
  return general<SoftmaxAttrs>(std::move(parts));
}

NDArray row_sum(const NDArray& x, int64_t axis) {
  return call("sum", {x}, {{"axis", Shape{axis}}, {"keepdims", true}});
}

// x where an element takes part in its row, 0 elsewhere.
NDArray taking_part(const Gradient& g, const NDArray& x, int64_t axis) {
  if (g.input_count() < 3) return x;
  const auto k = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(x.ndim()), g.op().name.c_str()));
  Shape row(x.ndim(), 1), rows = x.shape();
  row[k] = std::exchange(rows[k], 1);
  NDArray places = call(
      "_arange", {},
      {{"start", int64_t{0}}, {"stop", row[k]}, {"dtype", DType::kInt64}, {"ctx", std::string(to_string(x.device()))}});
  NDArray part = call("_npi_less", {call("_reshape_to", {places}, {{"shape", row}}),
                                    call("_reshape_to", {cast_to(g.input(2), DType::kInt64)}, {{"shape", rows}})});
  return call("_npi_where_rscalar", {part, x}, {{"scalar", 0.0}});
}

// dx = s y (dy - sum(dy y)): linear in dy with a symmetric matrix, quadratic in y.
void softmax_second_gradient(Gradient& g, const SoftmaxBackwardAttrs& a) {
  const NDArray& y = g.input(1);
  if (g.wants(0)) {
    std::vector<NDArray> inputs{g.head(), y};
    if (g.input_count() > 2) inputs.push_back(g.input(2));
    g.set(0, g.op(), g.attrs(), inputs);
  }
  if (!g.wants(1)) return;
  const NDArray dy = taking_part(g, g.input(0), a.axis), v = taking_part(g, g.head(), a.axis);
  NDArray first = v * (dy - row_sum(dy * y, a.axis));
  NDArray second = dy * row_sum(v * y, a.axis);
  g.set(1, (first - second) * a.scale);
}

// dx = s (dy - exp(y) sum(dy))
void log_softmax_second_gradient(Gradient& g, const SoftmaxBackwardAttrs& a) {
  const NDArray v = taking_part(g, g.head(), a.axis);
  NDArray weighted = v * call("exp", {g.input(1)});
  if (g.wants(0)) {
    NDArray difference = taking_part(g, v - row_sum(weighted, a.axis), a.axis);
    g.set(0, difference * a.scale);
  }
  if (!g.wants(1)) return;
  NDArray sum = row_sum(taking_part(g, g.input(0), a.axis), a.axis);
  g.set(1, weighted * sum * -a.scale);
}

OpDef backward(const char* name, SoftmaxKind kind, const char* doc,
               void (*gradient)(Gradient&, const SoftmaxBackwardAttrs&)) {
  return general<SoftmaxBackwardAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {"gradient", "result", "length"},
       .optional_inputs = 1,
       .infer = infer_softmax_backward,
       .kernel = [kind](KernelContext& c,
                        const SoftmaxBackwardAttrs& a) { softmax_backward(c, kind, a.axis, a.scale); },
       .gradient = gradient,
       .samples = {Sample({uniform({2, 3}), uniform({2, 3}, 0, 1)}, make_attrs(SoftmaxBackwardAttrs{.scale = 0.5})),
                   Sample({uniform({3, 2}), uniform({3, 2}, 0, 1), integers({2}, 1, 4)},
                          make_attrs(SoftmaxBackwardAttrs{.axis = 0})),
                   Sample({uniform({2, 4}), uniform({2, 4}, 0, 1), values({0, 2}, DType::kInt32)})}});
}

const char* kDetails =
    "Elements are divided by `temperature` first. With use_length=True the array `length` (the shape of data without "
    "`axis`) says how many leading elements of each row take part; the others give 0. Integers give float32 unless "
    "`dtype` says otherwise. Raises ValueError for an axis out of range, a `length` of another shape or a temperature "
    "that is not positive.";

struct ActivationAttrs {
  std::string mode = "instance";
  static constexpr auto kFields =
      fields(field(&ActivationAttrs::mode, "mode", "instance: over the last axis; channel: over axis 1.")
                 .one_of("instance|channel"));
};

OpDef softmax_activation() {
  return general<ActivationAttrs>(
      {.name = "SoftmaxActivation",
       .python = {"nd.SoftmaxActivation"},
       .doc =
           "Softmax over the last axis, or over the channels (axis 1). Raises ValueError for data without that axis.",
       .complete = keep_shape,
       .result_dtype = result_dtypes::floating,
       .compose = [](std::span<const NDArray> in, const ActivationAttrs& a) -> std::vector<NDArray> {
         const bool by_channel = a.mode == "channel";
         check(in[0].ndim() > (by_channel ? 1 : 0), ErrorKind::kValue,
               "SoftmaxActivation: mode '{}' takes data of {} or more dimensions, got shape {}", a.mode,
               by_channel ? "two" : "one", to_string(in[0].shape()));
         return {call("softmax", {in[0]}, {{"axis", int64_t{by_channel ? 1 : -1}}})};
       },
       .samples = {uniform({2, 3, 4}), Sample({uniform({2, 3, 4})}, make_attrs(ActivationAttrs{.mode = "channel"}))}});
}

OpDef softmax_cross_entropy() {
  return general(
      {.name = "softmax_cross_entropy",
       .python = {"nd.softmax_cross_entropy"},
       .doc = "Sum over the batch of -log softmax(data)[label]: data (batch, classes), label (batch,), result (1,). "
              "Raises ValueError for other shapes; IndexError, when the result is read, for a label that is no class.",
       .inputs = {"data", "label"},
       .result_dtype = result_dtypes::floating,
       .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
         const Shape &data = in[0].shape(), &label = in[1].shape();
         check(data.size() == 2 && label.size() == 1 && label[0] == data[0], ErrorKind::kValue,
               "softmax_cross_entropy: expected data (batch, classes) and label (batch,), got {} and {}",
               to_string(data), to_string(label));
         NDArray picked = call("pick", {call("log_softmax", {in[0]}), in[1]}, {{"mode", std::string("raise")}});
         return {(call("sum", {picked}) * -1.0)};
       },
       .samples = {Sample({uniform({3, 4}), values({0, 3, 1})})}});
}

}  // namespace

double softmax_scale(const SoftmaxAttrs& a, bool negate) {
  const double scale = 1 / a.temperature.value_or(1);
  return negate ? -scale : scale;
}

Operators softmax_operators() {
  return {
      forward<false>(SoftmaxKind::kSoftmax,
                     {.name = "softmax",
                      .aliases = {"_npx_softmax"},
                      .python = {"nd.softmax", "npx.softmax", "NDArray.softmax"},
                      .doc = std::string("exp(x) / sum(exp(x)) along an axis, without overflow.\n\n") + kDetails},
                     "_backward_softmax"),
      forward<false>(SoftmaxKind::kLogSoftmax,
                     {.name = "log_softmax",
                      .aliases = {"_npx_log_softmax"},
                      .python = {"nd.log_softmax", "npx.log_softmax", "NDArray.log_softmax"},
                      .doc = std::string("x - log(sum(exp(x))) along an axis, without overflow.\n\n") + kDetails},
                     "_backward_log_softmax"),
      forward<true>(SoftmaxKind::kSoftmax,
                    {.name = "softmin",
                     .python = {"nd.softmin", "NDArray.softmin"},
                     .doc = std::string("exp(-x) / sum(exp(-x)) along an axis, without overflow.\n\n") + kDetails},
                    "_backward_softmax"),
      backward("_backward_softmax", SoftmaxKind::kSoftmax, "scale * y * (dy - sum(dy * y)) along an axis.",
               softmax_second_gradient),
      backward("_backward_log_softmax", SoftmaxKind::kLogSoftmax, "scale * (dy - exp(y) * sum(dy)) along an axis.",
               log_softmax_second_gradient),
      softmax_activation(),
      softmax_cross_entropy(),
  };
}

}  // namespace headrace
