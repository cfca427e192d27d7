#include "headrace/symbol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "graph/infer.h"
#include "tests/graph/graphs.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using Names = std::vector<std::string>;

Symbol mlp() {
  const Symbol fc = Symbol::apply("FullyConnected", "fc", {var("data")}, {{"num_hidden", "4"}});
  const Symbol norm = Symbol::apply("BatchNorm", "bn", {fc});
  return Symbol::apply("Activation", "act", {norm}, {{"act_type", "relu"}});
}

TEST(Symbols, InputsThatAreLeftOutBecomeVariables) {
  const Symbol net = mlp();
  EXPECT_EQ(net.list_arguments(), (Names{"data", "fc_weight", "fc_bias", "bn_gamma", "bn_beta"}));
  EXPECT_EQ(net.list_auxiliary_states(), (Names{"bn_moving_mean", "bn_moving_var"}));
  EXPECT_EQ(net.list_inputs(),
            (Names{"data", "fc_weight", "fc_bias", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"}));
  EXPECT_EQ(net.list_outputs(), Names{"act_output"});
  EXPECT_EQ(net.attr_dict()["fc_weight"]["num_hidden"], "4");
  EXPECT_EQ(net.attr_dict()["bn_moving_var"]["__init__"], "[\"one\", {}]");
}

TEST(Symbols, InternalsAndChildren) {
  EXPECT_EQ(mlp().internals().list_outputs(), (Names{"data", "fc_weight", "fc_bias", "fc_output", "bn_gamma", "bn_beta",
                                                     "bn_moving_mean", "bn_moving_var", "bn_output", "act_output"}));
  EXPECT_EQ(mlp().children().list_outputs(), Names{"bn_output"});
  EXPECT_EQ(mlp().name(), "act");
  EXPECT_EQ(Symbol::group({var("a"), var("b")}).name(), "");
}

TEST(Symbols, AreNotMadeOfArraysWithValues) {
  Symbol none(std::vector<NDArray>{array({1, 2})});
  EXPECT_EQ(kind_of([&] { none.name(); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { none.list_outputs(); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { none.children(); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { none.attrs(); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { none.set_attr("a", "b"); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { Symbol({NDArray()}).list_outputs(); }), ErrorKind::kValue);
}

TEST(Symbols, SeveralOutputs) {
  const Symbol parts = Symbol::apply("SliceChannel", "part", {var("x")}, {{"num_outputs", "3"}});
  EXPECT_EQ(parts.list_outputs(), (Names{"part_output0", "part_output1", "part_output2"}));
  EXPECT_EQ(parts[1].list_outputs(), Names{"part_output1"});
  EXPECT_EQ(kind_of([&] { parts[3]; }), ErrorKind::kIndex);
  EXPECT_EQ(kind_of([&] { Symbol::apply("tanh", "", {parts}); }), ErrorKind::kRuntime);
}

TEST(Symbols, ComposingReplacesVariables) {
  const Symbol net = mlp(), other = Symbol::apply("tanh", "t", {var("z")});
  const Symbol made = net.compose({{"data", other}});
  EXPECT_THAT(made.list_arguments(), testing::ElementsAre("z", "fc_weight", "fc_bias", "bn_gamma", "bn_beta"));
  EXPECT_EQ(net.list_arguments()[0], "data");
  EXPECT_EQ(kind_of([&] { net.compose({{"nobody", other}}); }), ErrorKind::kKey);
  EXPECT_EQ(net.compose({{"data", other}}, "named").name(), "named");
  EXPECT_EQ(kind_of([&] { var("x").compose({}, "named"); }), ErrorKind::kValue);
}

TEST(Symbols, AttributesThatOperatorsDoNotTake) {
  EXPECT_THROW(Symbol::apply("Activation", "", {var("x")}), Error);  // act_type is missing
  EXPECT_THROW(Symbol::apply("Activation", "", {var("x")}, {{"act_type", "swishy"}}), Error);
  EXPECT_THROW(Symbol::apply("FullyConnected", "", {var("x")}, {{"num_hidden", "many"}}), Error);
  EXPECT_THROW(Symbol::apply("FullyConnected", "", {var("x")}, {{"num_hidden", "2"}, {"colour", "red"}}), Error);
  EXPECT_EQ(Symbol::apply("tanh", "", {var("x")}, {{"colour", "red"}}).attr("colour"), "red");  // it takes none at all
  EXPECT_EQ(kind_of([] { Symbol::apply("no_such_operator", "", {}); }), ErrorKind::kKey);
}

TEST(Symbols, HiddenAttributesAnswerToBothSpellings) {
  Symbol x = var("x", {{"lr_mult", "2"}});
  EXPECT_EQ(x.attr("lr_mult"), "2");
  EXPECT_EQ(x.attr("__lr_mult__"), "2");
  x.set_attr("wd_mult", "3");
  EXPECT_EQ(x.attr("__wd_mult__"), "3");
  EXPECT_EQ(x.attr("colour"), std::nullopt);
}

TEST(Infer, ShapesFlowToParameters) {
  const InferredTypes types = infer_types(mlp(), {.shapes = {{"data", {2, 3}}}, .dtypes = {}});
  std::vector<Shape> shapes;
  for (const auto& type : types.inputs) shapes.push_back(type.shape.value_or(Shape{-7}));
  EXPECT_EQ(shapes, (std::vector<Shape>{{2, 3}, {4, 3}, {4}, {4}, {4}, {4}, {4}}));
  EXPECT_EQ(types.outputs[0].shape, (Shape{2, 4}));
  EXPECT_EQ(types.outputs[0].dtype, std::nullopt);  // nobody said it
}

TEST(Infer, ShapesOfAllFollowOrNone) {
  const std::optional<InferredShapes> shapes = mlp().infer_shape({{"data", {2, 3}}});
  ASSERT_TRUE(shapes);
  EXPECT_EQ(shapes->arguments, (std::vector<Shape>{{2, 3}, {4, 3}, {4}, {4}, {4}}));
  EXPECT_EQ(shapes->outputs, (std::vector<Shape>{{2, 4}}));
  EXPECT_EQ(shapes->auxiliary_states, (std::vector<Shape>{{4}, {4}}));
  EXPECT_FALSE(mlp().infer_shape({}));
  EXPECT_EQ(kind_of([] { (void)mlp().infer_shape({{"dota", {2, 3}}}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] {
              (void)mlp().infer_shape({{"data", {2, 3}}, {mlp().list_arguments()[1], {5, 5}}});
            }),
            ErrorKind::kRuntime);
}

TEST(Infer, WhatCannotBeKnownStaysUnknown) {
  const InferredTypes nothing = infer_types(mlp(), {});
  EXPECT_FALSE(nothing.inputs[0].is_known());
  EXPECT_FALSE(nothing.outputs[0].is_known());
  const InferredTypes part = infer_types(mlp(), {.shapes = {{"data", {-1, 3}}}, .dtypes = {}});
  EXPECT_EQ(part.inputs[2].shape, Shape{4});  // the bias
  EXPECT_FALSE(part.outputs[0].is_known());
  EXPECT_EQ(part.inputs[1].shape, (Shape{4, 3}));  // the weight
  EXPECT_EQ(part.outputs[0].shape, (Shape{-1, 4}));
}

TEST(Infer, ParametersHoldWhatTheDataHold) {
  const KnownTypes known{.shapes = {{"data", {2, 3}}}, .dtypes = {{"data", DType::kFloat16}}};
  const InferredTypes types = infer_types(mlp(), known);
  EXPECT_EQ(types.inputs[1].dtype, DType::kFloat16);  // the weight
  EXPECT_EQ(types.inputs[5].dtype, DType::kFloat32);  // the running mean
  EXPECT_EQ(types.outputs[0].dtype, DType::kFloat16);
}

TEST(Infer, DeclaredTypesOfVariablesCount) {
  const Symbol x = var("x", {{"__shape__", "(2, 0)"}, {"__dtype__", "1"}});
  const InferredTypes types = infer_types(Symbol::apply("tanh", "", {x}), {.shapes = {{"x", {-1, 5}}}, .dtypes = {}});
  EXPECT_EQ(types.outputs[0].shape, (Shape{2, 5}));
  EXPECT_EQ(types.outputs[0].dtype, DType::kFloat64);
}

TEST(Infer, TypesOfThousandsOfInputs) {
  const std::vector<Symbol> inputs{Symbol::variable("a"), Symbol::variable("b")};
  const Symbol joined = Symbol::apply("Concat", "", inputs, {{"num_args", "5000"}, {"dim", "1"}});
  const InferredTypes types = infer_types(joined, {.shapes = {{"a", {2, 3}}}, .dtypes = {}});
  ASSERT_EQ(types.inputs.size(), 5000u);
  EXPECT_EQ(types.inputs.back().shape, (Shape{2, -1}));
  EXPECT_EQ(types.outputs[0].shape, (Shape{2, -1}));
}

TEST(Infer, ShapesFlowBackFromResults) {
  const Symbol sum = Symbol::apply("elemwise_add", "", {mlp()[0], var("label")});
  const InferredTypes types = infer_types(sum, {.shapes = {{"data", {-1, 3}}, {"label", {2, 4}}}, .dtypes = {}});
  EXPECT_EQ(types.inputs[1].shape, (Shape{4, 3}));
  EXPECT_EQ(types.outputs[0].shape, (Shape{2, 4}));
  const Symbol moved = Symbol::apply("transpose", "", {Symbol::apply("tanh", "", {var("x")})}, {{"axes", "(1, 0)"}});
  const Symbol both = Symbol::apply("elemwise_add", "", {moved, var("label")});
  const InferredTypes back = infer_types(both, {.shapes = {{"label", {2, 4}}}, .dtypes = {{"label", DType::kFloat64}}});
  EXPECT_EQ(back.inputs[0].shape, (Shape{4, 2}));
  EXPECT_EQ(back.inputs[0].dtype, DType::kFloat64);
}

TEST(Infer, OpenExtentsOfNewArraysAreClosedByTheirUsers) {
  const Symbol zeros = Symbol::apply("_zeros", "", {}, {{"shape", "(0, 3)"}});
  const Symbol x = var("x"), sum = Symbol::apply("elemwise_add", "", {zeros, x});
  EXPECT_EQ(infer_types(sum, {}).inputs[0].shape, (Shape{-1, 3}));
  const std::vector<NDArray> results =
      evaluate(sum.outputs(), {{x.outputs()[0].node().get(), full({2, 3}, 1, DType::kFloat32, {})}});
  EXPECT_EQ(results[0].shape(), (Shape{2, 3}));
}

TEST(Infer, ImpossibleShapesAreRefused) {
  const Symbol y = Symbol::apply("tanh", "y", {Symbol::variable("x")});
  EXPECT_EQ(kind_of([&] { infer_types(y, {.shapes = {{"x", {-2, 3}}}, .dtypes = {}}); }), ErrorKind::kValue);
}

// The values would be 2^60 bytes.
TEST(Infer, OperatorsThatReadValuesTakeNoMemory) {
  const KnownTypes known{.shapes = {{"x", {int64_t{1} << 58}}}, .dtypes = {{"x", DType::kFloat32}}};
  for (const char* op : {"_npx_nonzero", "_npi_unique", "_histogram"}) {
    const Symbol y = Symbol::apply(op, "y", {Symbol::variable("x")},
                                   op == std::string("_histogram") ? Symbol::Texts{{"bin_cnt", "3"}} : Symbol::Texts{});
    EXPECT_FALSE(infer_types(y, known).outputs[0].is_known()) << op;
  }
}

TEST(Infer, ShapesThatDoNotFitAreRefused) {
  EXPECT_THROW(infer_types(mlp(), {.shapes = {{"data", {2, 3}}, {"fc_weight", {4, 5}}}, .dtypes = {}}), Error);
}

}  // namespace
}  // namespace headrace
