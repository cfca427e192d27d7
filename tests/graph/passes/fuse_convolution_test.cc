#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/compiled_graph.h"
#include "graph/passes.h"
#include "tests/graph/graphs.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;
using testing::HasSubstr;
using testing::Not;

const std::vector<Shape> kShapes = {{2, 3, 5, 5}, {4, 3, 3, 3}, {4}, {4}, {4}, {4}, {2, 4, 5, 5}};
const std::vector<Shape> kChannelsLast = {{2, 5, 5, 3}, {4, 3, 3, 3}, {4}, {4}, {4}, {4}, {2, 5, 5, 4}};

NDArray convolution(const Arrays& in, const char* layout = "NCHW") {
  return call("Convolution", {in[0], in[1]},
              {{"kernel", Shape{3, 3}},
               {"pad", Shape{1, 1}},
               {"num_filter", int64_t{4}},
               {"no_bias", true},
               {"layout", std::string(layout)}});
}

NDArray normalized(const Arrays& in, const char* layout = "NCHW", int64_t axis = 1) {
  static const OpDef& op = find_op("BatchNorm");
  const NDArray inputs[] = {convolution(in, layout), in[2], in[3], in[4], in[5]};
  return invoke_all(op, attrs_of(op, {{"fix_gamma", false}, {"axis", axis}}), inputs)[0];
}

Arrays whole(const Arrays& in) { return {call("relu", {call("elemwise_add", {normalized(in), in[6]})})}; }
Arrays whole_channels_last(const Arrays& in) {
  return {call("relu", {call("elemwise_add", {normalized(in, "NHWC", -1), in[6]})})};
}

std::string fused_convolutions(const std::function<Arrays(const Arrays&)>& body,
                               const std::vector<Shape>& shapes = kShapes) {
  Lowered graph = traced(shapes, body);
  optimize(graph);
  fuse_convolutions(graph);
  return to_text(graph);
}

TEST(FuseConvolutions, NormalisationSumAndReluAreDoneWithIt) {
  for (const std::string& text : {fused_convolutions(whole), fused_convolutions(whole_channels_last, kChannelsLast)}) {
    EXPECT_THAT(text, HasSubstr("_batch_norm_affine"));
    EXPECT_THAT(text, HasSubstr("activation=relu, with_scale=True, with_sum=True"));
    for (const char* gone : {"= Convolution", "_batch_norm_predict", "elemwise_add", "= relu"})
      EXPECT_THAT(text, Not(HasSubstr(gone)));
  }
}

TEST(FuseConvolutions, NormalisationOverAnotherAxisStays) {
  std::vector<Shape> shapes = kChannelsLast;
  for (size_t i : {2, 3, 4, 5}) shapes[i] = {5};
  const auto body = [](const Arrays& in) -> Arrays { return {normalized(in, "NHWC", 1)}; };
  EXPECT_THAT(fused_convolutions(body, shapes), Not(HasSubstr("_fused_convolution")));
}

TEST(FuseConvolutions, WhatOthersReadIsNotTakenIn) {
  const std::string text = fused_convolutions([](const Arrays& in) -> Arrays {
    const NDArray y = normalized(in);
    return {call("relu", {y}), call("square", {y})};
  });
  EXPECT_THAT(text, HasSubstr("with_scale=True"));
  EXPECT_THAT(text, HasSubstr("= relu"));
}

TEST(FuseConvolutions, AConvolutionAloneStays) {
  EXPECT_THAT(fused_convolutions([](const Arrays& in) -> Arrays {
                return {convolution(in), call("square", {in[6]})};
              }),
              Not(HasSubstr("_fused_convolution")));
}

void expect_numbers_of_the_steps(const std::vector<Shape>& shapes, Arrays (*body)(const Arrays&)) {
  Arrays inputs;
  for (const Shape& shape : shapes)
    inputs.push_back(call("_random_uniform", {}, {{"low", 0.1}, {"high", 1.0}, {"shape", shape}}));
  const std::vector<float> expected = body(inputs)[0].to_vector<float>();
  Lowered graph = traced(shapes, body);
  optimize(graph);
  fuse_convolutions(graph);
  const CompiledGraph compiled(std::move(graph));
  const View& type = *compiled.graph().values[static_cast<size_t>(compiled.graph().outputs[0])].type;
  const NDArray result(make_view(type.shape(), type.dtype(), Device{}, type.strides()));
  std::vector<View*> reads;
  for (const NDArray& input : inputs) {
    input.wait_to_read();
    reads.push_back(input.view().get());
  }
  View* const write = result.view().get();
  compiled.run(reads, {&write, 1}, nullptr, {});
  const std::vector<float> actual = result.to_vector<float>();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
}

TEST(FuseConvolutions, TheNumbersAreThoseOfTheSteps) {
  expect_numbers_of_the_steps(kShapes, whole);
  expect_numbers_of_the_steps(kChannelsLast, whole_channels_last);
}

}  // namespace
}  // namespace headrace
