// Dropout: while training, elements are zeroed at random and the others scaled up.

#include "base/check.h"
#include "op/invoke.h"
#include "op/invoke_by_name.h"
#include "op/kernel.h"
#include "op/pointwise.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "op/thread_state.h"
#include "ops/random/fill.h"

namespace headrace {
namespace {

struct DropoutAttrs {
  double p = 0.5;
  std::string mode = "training";
  Shape axes = {};
  std::optional<bool> cudnn_off = {};
  static constexpr auto kFields = fields(
      field(&DropoutAttrs::p, "p", "Fraction of elements that are zeroed, in [0, 1].").between(0, 1),
      field(&DropoutAttrs::mode, "mode", "Whether to drop only while training, or always.").one_of("training|always"),
      field(&DropoutAttrs::axes, "axes", "Axes along which one choice holds for all elements."),
      field(&DropoutAttrs::cudnn_off, "cudnn_off", "Ignored; symbol files carry it."));
};

struct ScaleAttrs {
  double scale = 1;
  static constexpr auto kFields = fields(field(&ScaleAttrs::scale, "scale", "Factor of the elements that are kept."));
};

double keep_scale(double p) { return p < 1 ? 1 / (1 - p) : 0; }

Shape mask_shape(const Shape& data, const Shape& axes, const char* name) {
  Shape shape = data;
  for (int64_t axis : axes)
    shape[static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(data.size()), name))] = 1;
  return shape;
}

OpDef dropout_mask() {
  return general<DropoutAttrs>({
      .name = "_dropout_mask",
      .doc = "The mask of a dropout: uint8, 1 where an element is kept.",
      .result_dtype = result_dtypes::always(DType::kUint8),
      .infer =
          [](Infer& i, const DropoutAttrs& a) {
            Shape shape = mask_shape(i.shape(0), a.axes, i.name());
            i.output(shape, DType::kUint8);
            i.cost(100 + static_cast<double>(element_count(shape)));
            generators().draw(i, Streams::kParallel);
          },
      .kernel =
          [](KernelContext& c, const DropoutAttrs& a) {
            draw_flags(c, c.output(0), static_cast<float>(1 - a.p), c.input(0).dtype != DType::kFloat32);
          },
      .zero_gradient = true,
      .saves_inputs = kNothing,
      .strided_inputs = true,
      .is_random = true,
      .samples = {uniform({4, 5}), Sample({uniform({2, 3, 9})}, make_attrs(DropoutAttrs{.p = 0.2, .axes = {0, -2}}))},
  });
}

// data * mask * scale. Linear in data, so that its gradient is itself.
OpDef dropout_apply() {
  return pointwise<ScaleAttrs>(
      {.op = {.name = "_dropout_apply",
              .doc = "data where mask is not 0, times scale; 0 elsewhere.",
              .inputs = {"data", "mask"},
              .samples = {Sample({uniform({2, 3}), integers({2, 3}, 0, 2, DType::kUint8)}, make_attrs(ScaleAttrs{2}))}},
       .formula = [](Expr x, Expr mask, Expr scale) { return select(mask, x * scale, 0); },
       .dtypes = dtype_rules::like_first});
}

OpDef dropout() {
  return general<DropoutAttrs>({
      .name = "Dropout",
      .aliases = {"_npx_dropout"},
      .python = {"nd.Dropout", "npx.dropout"},
      .doc = R"(Zeroes each element with probability p and multiplies the others by 1/(1-p).

Only while training (autograd.record() or train_mode()), unless mode='always'; otherwise, and for p=0, the result is a
copy. With axes, elements along these axes share one choice. Raises ValueError unless 0 <= p <= 1.)",
      .counted_outputs = always(2),
      .complete = keep_shape,
      .compose = [](std::span<const NDArray> in, const DropoutAttrs& a) -> std::vector<NDArray> {
        check(a.p >= 0 && a.p <= 1, ErrorKind::kValue, "Dropout: p must be in [0, 1], got {}", a.p);
        check(is_floating(in[0].dtype()), ErrorKind::kType, "Dropout: a float array is needed, got {}",
              dtype_name(in[0].dtype()));
        const ThreadState& state = thread_state();
        if (a.p == 0 || !(state.training || a.mode == "always"))
          return {apart_from(state.recording || state.tracing ? in[0] : without_history(in[0]), in[0])};
        static const OpDef& draw = find_op("_dropout_mask");
        static const OpDef& apply = find_op("_dropout_apply");
        NDArray mask = call(draw, make_attrs(a), {without_history(in[0])});
        return {call(apply, make_attrs(ScaleAttrs{keep_scale(a.p)}), {in[0], mask})};
      },
      .is_random = true,
      .samples = {uniform({2, 3})},
  });
}

}  // namespace

Operators dropout_operators() { return {dropout(), dropout_mask(), dropout_apply()}; }

}  // namespace headrace
