// Convolution with what often comes after it in one pass over memory: what the graph compiler makes of
// relu(Convolution(...) + sum) where no gradient is asked for.

#include "ops/families.h"
#include "ops/nn/convolution_rules.h"

namespace headrace {
namespace {

struct FusedConvolutionAttrs : ConvolutionAttrs {
  std::string activation = {};
  bool with_sum = false;
  static constexpr auto kFields = std::tuple_cat(
      ConvolutionAttrs::kFields,
      fields(field(&FusedConvolutionAttrs::activation, "activation", "'relu', or '' for none."),
             field(&FusedConvolutionAttrs::with_sum, "with_sum",
                   "Whether there is a last array, of the result's shape, which is added before the activation.")));
};

FusedConvolutionAttrs sample_attrs(bool no_bias, bool with_sum) {
  FusedConvolutionAttrs a;
  a.kernel = {3, 3};
  a.pad = {1, 1};
  a.num_filter = 4;
  a.no_bias = no_bias;
  a.activation = "relu";
  a.with_sum = with_sum;
  return a;
}

}  // namespace

std::vector<OpDef> fused_convolution_operators() {
  const SampleArray data = uniform({2, 3, 5, 6}), weight = uniform({4, 3, 3, 3}), bias = uniform({4});
  return {general<FusedConvolutionAttrs>({
      .name = "_fused_convolution",
      .doc = "Convolution, plus a sum, then an activation.",
      .inputs = {"data", "weight", "bias", "sum"},
      .optional_inputs = 2,
      .input_count = [](const FusedConvolutionAttrs& a) -> size_t { return 2 + !a.no_bias + a.with_sum; },
      .complete = complete_convolution,
      .infer =
          [](Infer& i, const FusedConvolutionAttrs& a) {
            i.require(a.activation.empty() || a.activation == "relu", ErrorKind::kValue,
                      "activation must be '' or 'relu', got '{}'", a.activation);
            infer_convolution(i, a, a.with_sum ? 1 : 0);
          },
      .kernel =
          [](KernelContext& c, const FusedConvolutionAttrs& a) {
            std::optional<Image> sum;
            if (a.with_sum) sum = image_of(c.input(c.input_count() - 1), is_channels_last(a.layout));
            run_convolution(c, a, std::move(sum), a.activation == "relu");
          },
      .strided_inputs = true,
      .samples = {{{data, weight, bias}, make_attrs(sample_attrs(false, false))},
                  {{data, weight, uniform({2, 4, 5, 6})}, make_attrs(sample_attrs(true, true))}},
  })};
}

}  // namespace headrace
