// Dead code, common subexpressions, constants, halves: each shown on a printed graph.
#include "graph/passes.h"

#include <gtest/gtest.h>

#include "autograd/autograd.h"
#include "graph/compiled_graph.h"
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

NDArray joined(const Arrays& arrays, int64_t dim) {
  static const OpDef& concat = find_op("Concat");
  return invoke_all(concat, attrs_of(concat, {{"dim", dim}}), arrays)[0];
}

NDArray rows(const NDArray& array, int64_t begin, int64_t end) {
  return call("slice_axis", {array}, {{"axis", int64_t{0}}, {"begin", begin}, {"end", end}});
}

std::string optimized(const std::vector<Shape>& shapes, const std::function<Arrays(const Arrays&)>& body) {
  Lowered graph = traced(shapes, body);
  optimize(graph);
  return to_text(graph);
}

TEST(Joins, WhoReadsAPartReadsWhatWasJoined) {
  EXPECT_EQ(optimized({{4}, {6}},
                      [](const Arrays& in) -> Arrays {
                        const NDArray all = joined({call("tanh", {in[0]}), call("square", {in[1]})}, 0);
                        const NDArray second = call("_reshape_to", {rows(all, 4, 10)}, {{"shape", Shape{2, 3}}});
                        return {call("relu", {rows(all, 0, 4)}), call("relu", {second})};
                      }),
            "%0 = input : float32 (4,)\n"
            "%1 = input : float32 (6,)\n"
            "%2 = tanh(%0) : float32 (4,)\n"
            "%3 = square(%1) : float32 (6,)\n"
            "%5 = view _reshape_to(%3, shape=(6,)) : float32 (6,)\n"
            "%6 = view _reshape_to(%5, shape=(2, 3)) : float32 (2, 3)\n"
            "%7 = view _reshape_to(%2, shape=(4,)) : float32 (4,)\n"
            "%8 = relu(%7) : float32 (4,)\n"
            "%9 = relu(%6) : float32 (2, 3)\n"
            "return %8 %9\n");
}

TEST(Joins, PartsOfAPartLieWhereTheyLayInIt) {
  const Arrays inputs{array({1, 2, 3, 4}, {2, 2}), array({5, 6, 7, 8, 9, 10}, {3, 2})};
  const auto run = [&](const Arrays& in) {
    return call("square", {rows(rows(joined({in[0], in[1]}, 0), 2, 5), 1, 3)});
  };
  EXPECT_EQ(run(inputs).to_vector<float>(), (std::vector<float>{49, 64, 81, 100}));
  Lowered graph = traced({{2, 2}, {3, 2}}, [&](const Arrays& in) -> Arrays { return {run(in)}; });
  optimize(graph);
  EXPECT_EQ(to_text(graph).find("Concat"), std::string::npos) << to_text(graph);
  const CompiledGraph compiled(std::move(graph));
  const NDArray result = full({2, 2}, 0, DType::kFloat32, inputs[0].device());
  result.wait_to_read();
  const std::vector<View*> in{inputs[0].view().get(), inputs[1].view().get()}, out{result.view().get()};
  compiled.run(in, out, nullptr, {}, result.device());
  EXPECT_EQ(result.to_vector<float>(), (std::vector<float>{49, 64, 81, 100}));
}

TEST(Joins, WhatCrossesPartsIsJoined) {
  const auto has_join = [](const std::function<Arrays(const Arrays&)>& body) {
    return optimized({{2, 3}, {2, 3}}, body).find("Concat") != std::string::npos;
  };
  EXPECT_TRUE(has_join([](const Arrays& in) -> Arrays { return {call("relu", {rows(joined(in, 0), 1, 3)})}; }));
  EXPECT_TRUE(has_join([](const Arrays& in) -> Arrays { return {call("relu", {rows(joined(in, 1), 0, 1)})}; }));
  EXPECT_TRUE(has_join([](const Arrays& in) -> Arrays { return {call("relu", {rows(joined(in, 0), 0, 1)})}; }));
  EXPECT_TRUE(has_join([](const Arrays& in) -> Arrays {
    return {call("relu", {rows(joined({call("transpose", {in[0]}), call("transpose", {in[1]})}, 0), 0, 3)})};
  })) << "an array whose elements lie in another order";
  EXPECT_FALSE(has_join([](const Arrays& in) -> Arrays { return {call("relu", {rows(joined(in, 0), 2, 4)})}; }));
}

// The vector of statistics is joined before batch normalisation moves them.
TEST(Joins, PartsThatChangeLaterAreKeptAsTheyWere) {
  Lowered graph = traced(
      {{4, 2}, {2}, {2}, {2}, {2}},
      [](const Arrays& in) -> Arrays {
        const NDArray before = joined({in[3], in[4]}, 0);
        static const OpDef& op = find_op("BatchNorm");
        const NDArray y = invoke_all(op, attrs_of(op, {{"fix_gamma", false}}), Arrays(in.begin(), in.begin() + 5))[0];
        return {y, call("relu", {rows(before, 0, 2)})};
      },
      DType::kFloat32, true);
  optimize(graph);
  EXPECT_NE(to_text(graph).find("Concat"), std::string::npos) << to_text(graph);
}

TEST(Joins, OutputsThatWerePartsAreNotCopied) {
  EXPECT_EQ(optimized({{4}, {6}},
                      [](const Arrays& in) -> Arrays {
                        const NDArray all = joined({call("tanh", {in[0]}), call("square", {in[1]})}, 0);
                        return {rows(all, 0, 4), rows(all, 4, 10), rows(all, 0, 4)};
                      }),
            "%0 = input : float32 (4,)\n"
            "%1 = input : float32 (6,)\n"
            "%2 = tanh(%0) : float32 (4,)\n"
            "%3 = square(%1) : float32 (6,)\n"
            "%5 = view _reshape_to(%2, shape=(4,)) : float32 (4,)\n"
            "%10 = _copy(%5) : float32 (4,)\n"
            "return %2 %3 %10\n");
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
