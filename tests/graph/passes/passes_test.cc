// Dead code, common subexpressions, constants, halves: each shown on a printed graph.
#include "graph/passes.h"

#include <gtest/gtest.h>

#include "autograd/autograd.h"
#include "tests/graph/graphs.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;

TEST(DeadCode, StepsThatNobodyNeedsGo) {
  Lowered graph = traced({{2}}, [](const Arrays& in) -> Arrays {
    return {call("SliceChannel", {call("_reshape_to", {in[0]}, {{"shape", Shape{1, 2}}})},
                 {{"num_outputs", int64_t{2}}, {"axis", int64_t{1}}})};
  });
  EXPECT_EQ(to_text(graph),
            "%0 = input : float32 (2,)\n"
            "%1 = view _reshape_to(%0, shape=(1, 2)) : float32 (1, 2)\n"
            "%2 = view slice_axis(%1, axis=1, end=1) : float32 (1, 1)\n"
            "%3 = view slice_axis(%1, axis=1, begin=1, end=2) : float32 (1, 1)\n"
            "%4 = _copy(%2) : float32 (1, 1)\n"
            "return %4\n");
  drop_dead_code(graph);
  EXPECT_EQ(to_text(graph),
            "%0 = input : float32 (2,)\n"
            "%1 = view _reshape_to(%0, shape=(1, 2)) : float32 (1, 2)\n"
            "%2 = view slice_axis(%1, axis=1, end=1) : float32 (1, 1)\n"
            "%4 = _copy(%2) : float32 (1, 1)\n"
            "return %4\n");
}

TEST(CommonSubexpressions, EqualStepsAreOne) {
  Lowered graph = traced({{2}}, [](const Arrays& in) -> Arrays {
    const NDArray a = call("tanh", {in[0]}), b = call("tanh", {in[0]});
    return {call("elemwise_mul", {call("square", {a}), call("square", {b})})};
  });
  merge_common_subexpressions(graph);
  drop_dead_code(graph);
  EXPECT_EQ(to_text(graph),
            "%0 = input : float32 (2,)\n"
            "%1 = tanh(%0) : float32 (2,)\n"
            "%3 = square(%1) : float32 (2,)\n"
            "%5 = elemwise_mul(%3, %3) : float32 (2,)\n"
            "return %5\n");
}

TEST(CommonSubexpressions, OtherAttributesAndRandomStepsAreKept) {
  Lowered graph = traced({{2}}, [](const Arrays& in) -> Arrays {
    static const OpDef& uniform = find_op("_random_uniform");
    const AttrsPtr attrs = attrs_of(uniform, {{"shape", Shape{2}}});
    const NDArray a = call(uniform, attrs, {}), b = call(uniform, attrs, {});
    const NDArray c = call("_plus_scalar", {in[0]}, {{"scalar", 1.0}}),
                  d = call("_plus_scalar", {in[0]}, {{"scalar", 2.0}});
    return {call("elemwise_add", {a, b}), call("elemwise_add", {c, d})};
  });
  const size_t before = graph.steps.size();
  merge_common_subexpressions(graph);
  drop_dead_code(graph);
  EXPECT_EQ(graph.steps.size(), before);
}

TEST(Constants, WhatDependsOnConstantsAloneIsComputedNow) {
  Lowered graph = traced({{3}}, [](const Arrays& in) -> Arrays {
    static const OpDef& ones = find_op("_ones");
    const NDArray one = call(ones, attrs_of(ones, {{"shape", Shape{3}}}), {});
    return {call("elemwise_add", {in[0], call("square", {call("_plus_scalar", {one}, {{"scalar", 2.0}})})})};
  });
  EXPECT_EQ(to_text(graph),
            "%0 = input : float32 (3,)\n"
            "%1 = _ones(shape=(3,)) : float32 (3,)\n"
            "%2 = _plus_scalar(%1, scalar=2.0) : float32 (3,)\n"
            "%3 = square(%2) : float32 (3,)\n"
            "%4 = elemwise_add(%0, %3) : float32 (3,)\n"
            "return %4\n");
  fold_constants(graph);
  EXPECT_EQ(to_text(graph),
            "%0 = input : float32 (3,)\n"
            "%3 = constant : float32 (3,)\n"
            "%4 = elemwise_add(%0, %3) : float32 (3,)\n"
            "return %4\n");
  EXPECT_EQ(graph.values[3].constant.to_vector<float>(), (std::vector<float>{9, 9, 9}));
}

TEST(Constants, RandomStepsAreNotComputedNow) {
  Lowered graph = traced({{3}}, [&](const Arrays& in) -> Arrays {
    static const OpDef& uniform = find_op("_random_uniform");
    return {call("elemwise_add", {in[0], call(uniform, attrs_of(uniform, {{"shape", Shape{3}}}), {})})};
  });
  fold_constants(graph);
  EXPECT_EQ(graph.steps.size(), 2u);
}

TEST(Split, BackwardGetsWhatForwardComputed) {
  Lowered whole;
  {
    TraceScope scope(true);
    NDArray x = abstract_variable({3}, DType::kFloat32), head = abstract_variable({3}, DType::kFloat32);
    const NDArray t = call("tanh", {x}), y = call("sin", {t});
    const Arrays gradient = autograd::trace_grad({&y, 1}, {&x, 1}, {&head, 1});
    whole = lower(Arrays{x, head}, Arrays{y, gradient[0]});
  }
  optimize(whole);
  const Halves halves = split(whole, 1, 1);
  EXPECT_EQ(to_text(halves.forward),
            "%0 = input : float32 (3,)\n"
            "%1 = tanh(%0) : float32 (3,)\n"
            "%2 = sin(%1) : float32 (3,)\n"
            "return %2\n");
  EXPECT_EQ(halves.kept, std::vector<int>{1});
  EXPECT_TRUE(halves.from_outputs.empty());
  EXPECT_EQ(halves.backward.inputs.size(), 1 + halves.from_inputs.size() + halves.kept.size());
  const std::string text = to_text(halves.backward);
  EXPECT_NE(text.find("_backward_sin"), std::string::npos) << text;
  EXPECT_EQ(text.find("= tanh("), std::string::npos) << text;
}

TEST(Split, ViewsAreLookedAtAgain) {
  Lowered whole;
  {
    TraceScope scope(true);
    NDArray x = abstract_variable({2, 3}, DType::kFloat32), head = abstract_variable({3, 2}, DType::kFloat32);
    const NDArray y = call("square", {call("transpose", {x})});
    const Arrays gradient = autograd::trace_grad({&y, 1}, {&x, 1}, {&head, 1});
    whole = lower(Arrays{x, head}, Arrays{y, gradient[0]});
  }
  optimize(whole);
  const Halves halves = split(whole, 1, 1);
  EXPECT_TRUE(halves.kept.empty());
  EXPECT_EQ(halves.from_inputs, std::vector<size_t>{0});
}

}  // namespace
}  // namespace headrace
