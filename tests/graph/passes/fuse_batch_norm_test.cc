#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "autograd/autograd.h"
#include "graph/cached_op.h"
#include "graph/passes.h"
#include "op/thread_state.h"
#include "tests/graph/graphs.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;
using testing::HasSubstr;
using testing::Not;

const std::vector<Shape> kLayerShapes = {{2, 3, 4, 5}, {3}, {3}, {3}, {3}};

NDArray layer_of(const Arrays& in) {
  static const OpDef& op = find_op("BatchNorm");
  return invoke_all(op, attrs_of(op, {{"fix_gamma", false}}), in)[0];
}

std::string fused_batch_norms(const std::function<Arrays(const Arrays&)>& body, bool training = true) {
  Lowered graph = traced(kLayerShapes, body, DType::kFloat32, training);
  optimize(graph);
  fuse_batch_norms(graph);
  return to_text(graph);
}

TEST(FuseBatchNorms, TheLayerAppliesRelu) {
  for (bool training : {false, true}) {
    const std::string text =
        fused_batch_norms([](const Arrays& in) -> Arrays { return {call("relu", {layer_of(in)})}; }, training);
    EXPECT_THAT(text, HasSubstr("activation=relu"));
    EXPECT_THAT(text, Not(HasSubstr("= relu")));
  }
}

TEST(FuseBatchNorms, AResultThatIsReadElsewhereStays) {
  const auto twice = [](const Arrays& in) -> Arrays {
    const NDArray y = layer_of(in);
    return {call("elemwise_add", {call("relu", {y}), y})};
  };
  const auto given = [](const Arrays& in) -> Arrays {
    const NDArray y = layer_of(in);
    return {call("relu", {y}), y};
  };
  for (const auto& body : {std::function<Arrays(const Arrays&)>(twice), std::function<Arrays(const Arrays&)>(given)})
    EXPECT_THAT(fused_batch_norms(body), Not(HasSubstr("activation=relu")));
}

TEST(FuseBatchNorms, OtherFunctionsStay) {
  EXPECT_THAT(fused_batch_norms([](const Arrays& in) -> Arrays { return {call("sigmoid", {layer_of(in)})}; }),
              Not(HasSubstr("activation=relu")));
}

Symbol layer_and_relu() {
  return Symbol::apply("relu", "",
                       {Symbol::apply("BatchNorm", "bn", {var("x"), var("gamma"), var("beta"), var("mean"), var("var")},
                                      {{"fix_gamma", "False"}})});
}

// Numbers near 0 on both sides, as small as the dtype holds them and smaller, and what is no number.
NDArray data_of(DType dtype, bool has_nan) {
  std::vector<float> values;
  for (int i = 0; i < 120; ++i) {
    const float step = static_cast<float>(i % 11) - 5.0f;
    values.push_back(i % 7 == 0 ? step * 1e-7f : i % 5 == 0 ? 0.0f : step);
  }
  if (has_nan) values[40] = std::numeric_limits<float>::quiet_NaN();
  return cast_to(array(values, kLayerShapes[0]), dtype);
}

// The result and the gradients of a step, and the moving statistics after it.
std::vector<std::string> step_of(bool compile, DType dtype, bool has_nan) {
  const DType own = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
  const auto vector = [&](std::vector<float> values) { return cast_to(array(values, {3}), own); };
  Arrays inputs{data_of(dtype, has_nan), vector({1e-6f, 1, -0.5f}), vector({0, 0.25f, -0.0f}), vector({0, 0, 0}),
                vector({1, 1, 1})};
  Arrays gradients;
  for (size_t i = 0; i < 3; ++i) {
    gradients.push_back(zeros_like(inputs[i]));
    autograd::mark_variable(inputs[i], gradients.back(), GradReq::kWrite);
  }
  CachedOp op(layer_and_relu(), {.compile = compile});
  thread_state().recording = thread_state().training = true;
  const Arrays results = op(inputs);
  thread_state().recording = thread_state().training = false;
  std::vector<float> heads;
  for (int i = 0; i < 120; ++i) heads.push_back(static_cast<float>(i % 13) - 6.0f);
  const NDArray head = cast_to(array(heads, kLayerShapes[0]), dtype);
  autograd::backward(results, {&head, 1}, false, true);
  std::vector<std::string> all{bytes_of(results[0]), bytes_of(inputs[3]), bytes_of(inputs[4])};
  for (const NDArray& gradient : gradients) all.push_back(bytes_of(gradient));
  return all;
}

TEST(FuseBatchNorms, GivesTheBitsOfTheSeparateSteps) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16})
    for (bool has_nan : {false, true})
      EXPECT_EQ(step_of(true, dtype, has_nan), step_of(false, dtype, has_nan)) << dtype_name(dtype) << has_nan;
}

}  // namespace
}  // namespace headrace
