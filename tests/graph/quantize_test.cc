#include "graph/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "headrace/error.hpp"

namespace headrace {
namespace {

using Texts = Symbol::Texts;
using Names = std::vector<std::string>;

Symbol data() { return Symbol::variable("data"); }
Symbol convolution(const std::string& name, const Symbol& of) {
  return Symbol::apply("Convolution", name, {of}, {{"kernel", "(1, 1)"}, {"num_filter", "4"}, {"no_bias", "True"}});
}
Symbol relu(const std::string& name, const Symbol& of) {
  return Symbol::apply("Activation", name, {of}, {{"act_type", "relu"}});
}
Symbol dense_layer(const std::string& name, const Symbol& of) {
  return Symbol::apply("FullyConnected", name, {of}, {{"num_hidden", "3"}});
}

bool has(const Symbol& symbol, const std::string& output) {
  const Names names = symbol.internals().list_outputs();
  return std::ranges::find(names, output) != names.end();
}

TEST(Quantize, PutsQuantizeAndDequantizeWhereFloatsMeetBytes) {
  const Symbol net = Symbol::apply("sigmoid", "end", {dense_layer("dense", relu("relu", convolution("conv", data())))});
  const QuantizedSymbol made = quantize(net, {.parameters = {"conv_weight", "dense_weight", "dense_bias"}});
  EXPECT_EQ(made.symbol.list_arguments(),
            (Names{"data", "conv_weight_quantize", "conv_weight_quantize_min", "conv_weight_quantize_max",
                   "dense_weight_quantize", "dense_bias_quantize", "dense_weight_quantize_min",
                   "dense_weight_quantize_max", "dense_bias_quantize_min", "dense_bias_quantize_max"}));
  EXPECT_EQ(made.calibrated, (Names{"data", "conv_output", "dense_output"}));
  EXPECT_TRUE(has(made.symbol, "dense_dequantize_output"));
  EXPECT_FALSE(has(made.symbol, "conv_dequantize_output"));
  EXPECT_EQ(made.symbol.attr_dict().at("data_quantize").at("out_type"), "int8");
}

TEST(Quantize, ParametersThatAreNotNamedAreQuantizedByTheGraph) {
  const QuantizedSymbol made = quantize(convolution("conv", data()), {});
  EXPECT_EQ(made.symbol.list_arguments(), (Names{"data", "conv_weight"}));
  EXPECT_EQ(made.calibrated, (Names{"data", "conv_weight", "conv_output"}));
}

TEST(Quantize, OneQuantizeServesAllReadersOfAnOutput) {
  const Symbol start = Symbol::apply("sigmoid", "start", {data()});
  const QuantizedSymbol made = quantize(Symbol::group({dense_layer("a", start), dense_layer("b", start)}), {});
  const Names names = made.symbol.internals().list_outputs();
  EXPECT_EQ(std::ranges::count(names, "start_output_quantize_output0"), 1);
}

TEST(Quantize, SmartLeavesWhatIsNotBetweenLayers) {
  const Symbol net = relu("after", dense_layer("dense", relu("between", convolution("conv", relu("before", data())))));
  const Symbol smart = quantize(net, {.smart = true}).symbol, full = quantize(net, {}).symbol;
  for (const char* name : {"before", "after"}) {
    EXPECT_FALSE(has(smart, "quantized_" + std::string(name) + "_output"));
    EXPECT_TRUE(has(full, "quantized_" + std::string(name) + "_output"));
  }
  EXPECT_TRUE(has(smart, "quantized_between_output"));
}

TEST(Quantize, ExcludedNodesAndOperatorsStay) {
  const Symbol net = dense_layer("dense", convolution("conv", data()));
  EXPECT_FALSE(has(quantize(net, {.excluded_nodes = {"conv"}}).symbol, "quantized_conv_output"));
  const Symbol none = quantize(net, {.excluded_operators = {"Convolution", "FullyConnected"}}).symbol;
  EXPECT_EQ(none.to_json(), net.to_json());
}

TEST(Quantize, RangesAreWrittenIntoACopy) {
  const QuantizedSymbol made = quantize(convolution("conv", data()), {});
  const Symbol told = with_ranges(made.symbol, {{"data", {-1.0f, 2.0f}}, {"conv_output", {0.0f, 0.5f}}});
  EXPECT_EQ(told.attr_dict().at("data_quantize").at("max_calib_range"), "2.000000");
  EXPECT_EQ(told.attr_dict().at("requantize_conv").at("max_calib_range"), "0.500000");
  EXPECT_FALSE(made.symbol.attr_dict().at("data_quantize").contains("max_calib_range"));
  const Symbol turned = with_ranges(made.symbol, {{"data", {1.0f, 0.0f}}});
  EXPECT_EQ(turned.attr_dict().at("data_quantize").at("min_calib_range"), "1.000000");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THROW(with_ranges(made.symbol, {{"data", {0.0f, kInfinity}}}), Error);
}

TEST(Quantize, UnknownDtypesAreRefused) { EXPECT_THROW(quantize(data(), {.dtype = "int4"}), Error); }

class FusedLayers : public ::testing::Test {
 protected:
  static Symbol norm(const Symbol& of) { return Symbol::apply("BatchNorm", "norm", {of}); }
  static Symbol sum(const Symbol& a, const Symbol& b) { return Symbol::apply("elemwise_add", "sum", {a, b}); }
};

TEST_F(FusedLayers, TakeWhatOneReaderDoesAfterTheOther) {
  QuantizeOptions options;
  const Symbol x = data();
  const Symbol made = with_fused_layers(relu("relu", sum(x, norm(convolution("conv", x)))), options);
  EXPECT_EQ(made.list_outputs(), (Names{"relu_output"}));
  EXPECT_EQ(made.list_inputs(),
            (Names{"data", "conv_weight", "norm_gamma", "norm_beta", "norm_moving_mean", "norm_moving_var"}));
  const Texts texts = made.attr_dict().at("relu");
  EXPECT_EQ(texts.at("with_scale"), "True");
  EXPECT_EQ(texts.at("with_sum"), "True");
  EXPECT_EQ(texts.at("activation"), "relu");
  EXPECT_EQ(texts.at("num_filter"), "4");
}

TEST_F(FusedLayers, EndWhereSomebodyElseReads) {
  QuantizeOptions options;
  const Symbol conv = convolution("conv", data());
  const Symbol made = with_fused_layers(Symbol::group({relu("relu", conv), conv}), options);
  EXPECT_TRUE(has(made, "conv_output"));
  EXPECT_TRUE(has(made, "relu_output"));
  EXPECT_FALSE(made.attr_dict().at("conv").contains("activation"));
}

TEST_F(FusedLayers, AreExcludedAsAWhole) {
  QuantizeOptions options{.excluded_nodes = {"norm"}};
  const Symbol net = relu("relu", norm(convolution("conv", data())));
  EXPECT_EQ(with_fused_layers(net, options).to_json(), net.to_json());
  for (const char* name : {"conv", "norm", "relu"}) EXPECT_TRUE(options.excluded_nodes.contains(name));
}

TEST_F(FusedLayers, LeaveNormsOverOtherAxes) {
  QuantizeOptions options;
  const Symbol conv =
      Symbol::apply("Convolution", "conv", {data()}, {{"kernel", "(1, 1)"}, {"num_filter", "4"}, {"layout", "NHWC"}});
  EXPECT_TRUE(has(with_fused_layers(norm(conv), options), "conv_output"));
}

}  // namespace
}  // namespace headrace
