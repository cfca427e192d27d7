#include "graph/joined_layers.h"

#include <gmock/gmock.h>

#include "graph/infer.h"
#include "graph/nodes.h"
#include "graph/quantize.h"
#include "headrace/error.hpp"
#include "op/op_def.h"

namespace headrace {
namespace {

using Names = std::vector<std::string>;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Symbol images() { return Symbol::variable("data"); }

Symbol block(const Symbol& of, const std::string& activation = "relu") {
  const Symbol layer = Symbol::apply("Convolution", "conv", {of}, {{"kernel", "(1, 1)"}, {"num_filter", "3"}});
  const Symbol norm = Symbol::apply("BatchNorm", "norm", {layer});
  return Symbol::apply("Activation", "act", {norm}, {{"act_type", activation}});
}

// The joined network, quantized and with ranges.
Symbol on_bytes(const Symbol& net) {
  QuantizedSymbol made = quantize(with_joined_layers(net, true), {});
  Ranges ranges;
  for (const std::string& name : made.calibrated) ranges[name] = {-1.0f, 2.0f};
  return with_joined_layers(with_ranges(made.symbol, ranges), true);
}

Names kinds_of_nodes(std::span<const NDArray> heads) {
  Names names;
  for (const Node* node : topological_order(heads))
    if (node->op) names.push_back(node->op->name);
  return names;
}

const Node& layer_of(const Symbol& net) {
  for (const Node* node : topological_order(net.outputs()))
    if (node->op && node->op->control_flow == ControlFlow::kLayer) return *node;
  throw std::logic_error("there is no joined layer");
}

TEST(JoinedLayers, HaveTheInputsAndStatesOfWhatWasJoined) {
  const Symbol joined = with_joined_layers(block(images()), false);
  EXPECT_EQ(joined.list_outputs(), (Names{"sg_mkldnn_conv_bn_act_0_output"}));
  EXPECT_EQ(joined.list_arguments(), (Names{"data", "conv_weight", "conv_bias", "norm_gamma", "norm_beta"}));
  EXPECT_EQ(joined.list_auxiliary_states(), (Names{"norm_moving_mean", "norm_moving_var"}));
  EXPECT_EQ(Symbol::from_json(joined.to_json()).to_json(), joined.to_json());
}

TEST(JoinedLayers, FunctionsThatCannotBeQuantizedStayOutsideForBytes) {
  const Symbol net = block(images(), "tanh");
  EXPECT_EQ(with_joined_layers(net, false).list_outputs(), (Names{"sg_mkldnn_conv_bn_act_0_output"}));
  EXPECT_EQ(with_joined_layers(net, true).list_outputs(), (Names{"act_output"}));
}

TEST(JoinedLayers, OpenIntoTheirBodiesOnFloats) {
  const OpenedLayer opened = opened_layer(layer_of(with_joined_layers(block(images()), false)));
  EXPECT_EQ(kinds_of_nodes(opened.results), (Names{"Convolution", "BatchNorm", "Activation"}));
  EXPECT_EQ(opened.variables.size(), 7u);
}

TEST(JoinedLayers, OpenIntoOneOperatorOnBytes) {
  const Symbol net = on_bytes(block(images()));
  EXPECT_EQ(net.list_outputs(), (Names{"sg_mkldnn_conv_bn_act_0_dequantize_output"}));
  EXPECT_EQ(kinds_of_nodes(net.outputs()), (Names{"_contrib_quantize_v2", "_sg_mkldnn_conv", "_contrib_dequantize"}));
  const OpenedLayer opened = opened_layer(layer_of(net));
  EXPECT_EQ(kinds_of_nodes(opened.results), (Names{"_batch_norm_affine", "_byte_convolution"}));
  EXPECT_EQ(opened.results.size(), 3u);
}

TEST(JoinedLayers, AClipThatBytesCannotPassIsRelu) {
  const auto opened = [](const char* most) {
    const Symbol layer = Symbol::apply("Convolution", "conv", {images()}, {{"kernel", "(1, 1)"}, {"num_filter", "3"}});
    const Symbol net = Symbol::apply("clip", "clip", {layer}, {{"a_min", "0"}, {"a_max", most}});
    return kinds_of_nodes(opened_layer(layer_of(on_bytes(net))).results);
  };
  EXPECT_EQ(opened("2.0"), (Names{"_byte_convolution"}));
  EXPECT_THAT(opened("1.5"), ::testing::Contains("clip"));
}

TEST(JoinedLayers, WithoutRangesGiveSums) {
  const Symbol net = quantize(with_joined_layers(block(images()), true), {}).symbol;
  EXPECT_EQ(kinds_of_nodes(opened_layer(layer_of(net)).results),
            (Names{"_batch_norm_affine", "_byte_convolution", "_quantize_sums"}));
}

TEST(JoinedLayers, OneArrayMayBeDataAndSummand) {
  const Symbol x = images();
  const Symbol layer = Symbol::apply("Convolution", "conv", {x}, {{"kernel", "(1, 1)"}, {"num_filter", "3"}});
  const Symbol net = on_bytes(Symbol::apply("elemwise_add", "sum", {layer, x}));
  const InferredTypes types = infer_types(net, {.shapes = {{"conv_weight", {3, 3, 1, 1}}}, .dtypes = {}});
  EXPECT_FALSE(types.outputs[0].is_known());
  const InferredTypes known = infer_types(net, {.shapes = {{"data", {2, 3, 4, 4}}}, .dtypes = {}});
  EXPECT_EQ(known.outputs[0].shape, (Shape{2, 3, 4, 4}));
}

TEST(JoinedLayers, AnotherNumberOfInputsIsRefused) {
  const Symbol joined = with_joined_layers(block(images()), false);
  std::string text = joined.to_json();
  const std::string flag = "\"with_bn\": \"true\"";
  text.replace(text.find(flag), flag.size(), flag + ", \"quantized\": \"true\"");
  EXPECT_THAT([&] { Symbol::from_json(text); }, ThrowsMessage<Error>(HasSubstr("has 7 inputs, not the 9")));
}

}  // namespace
}  // namespace headrace
