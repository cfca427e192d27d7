// Convolution with what often comes after it in one pass over memory: what the graph compiler makes of
// relu(BatchNorm(Convolution(...)) + sum) where no gradient is asked for.

#include "ops/convolution/fused_convolution.h"

#include "op/kernel.h"
#include "op/quantization.h"
#include "op/rule.h"
#include "ops/convolution/convolution_rules.h"
#include "ops/linalg/matrix.h"

namespace headrace {
namespace {

void infer(Infer& i, const FusedConvolutionAttrs& a) {
  const Shape out = infer_convolution(i, a, a.further());
  const size_t own = i.input_count() - a.further();
  if (a.with_scale) {
    for (size_t k : {own, own + 1}) {
      require_shape(i, k, k == own ? "scale" : "shift", Shape{a.num_filter}, false);
      i.require(i.dtype(k) == DType::kFloat32, ErrorKind::kRuntime, "scale and shift must hold float32, got {}",
                dtype_name(i.dtype(k)));
    }
  }
  if (!a.with_sum) return;
  const size_t last = i.input_count() - 1;
  require_shape(i, last, "sum", out, is_channels_last(a.layout));
  i.require(i.dtype(last) == i.dtype(0), ErrorKind::kRuntime, "sum must hold {} as data does, got {}",
            dtype_name(i.dtype(0)), dtype_name(i.dtype(last)));
}

void run(KernelContext& c, const FusedConvolutionAttrs& a) {
  const size_t own = c.input_count() - a.further();
  ConvolutionProblem::After after{.relu = a.activation == "relu"};
  if (a.with_scale) {
    after.scale = packed_data(c, c.input(own));
    after.shift = packed_data(c, c.input(own + 1));
  }
  if (a.with_sum) after.sum = image_of(c.input(c.input_count() - 1), is_channels_last(a.layout));
  run_convolution(c, a, std::move(after));
}

FusedConvolutionAttrs sample_attrs(bool no_bias, bool with_scale, bool with_sum) {
  FusedConvolutionAttrs a;
  a.kernel = {3, 3};
  a.pad = {1, 1};
  a.num_filter = 4;
  a.no_bias = no_bias;
  a.activation = "relu";
  a.with_scale = with_scale;
  a.with_sum = with_sum;
  return a;
}

}  // namespace

Operators fused_convolution_operators() {
  const SampleArray data = uniform({2, 3, 5, 6}), weight = uniform({4, 3, 3, 3}), bias = uniform({4});
  return {general<FusedConvolutionAttrs>({
      .name = "_fused_convolution",
      .doc = "Convolution, scaled and shifted by channel, plus a sum, then an activation.",
      .inputs = {"data", "weight", "bias", "scale", "shift", "sum"},
      .optional_inputs = 4,
      .input_count = [](const FusedConvolutionAttrs& a) -> size_t { return 2 + !a.no_bias + a.further(); },
      .complete = [](Completion& c, const FusedConvolutionAttrs& a) { complete_convolution(c, a); },
      .infer = infer,
      .kernel = run,
      .quantization = quantization({.becomes = "_byte_convolution",
                                    .is_worthwhile = true,
                                    .keeps_input =
                                        [](const FusedConvolutionAttrs& a, size_t i, size_t) {
                                          const size_t own = a.no_bias ? 2 : 3;
                                          return i >= 2 && (i < own || (a.with_scale && i < own + 2));
                                        },
                                    .has_rowwise_weight = true,
                                    .float_attribute = "float_output"}),
      .strided_inputs = true,
      .samples = {{{data, weight, bias}, make_attrs(sample_attrs(false, false, false))},
                  {{data, weight, uniform({2, 4, 5, 6})}, make_attrs(sample_attrs(true, false, true))}},
  })};
}

}  // namespace headrace
