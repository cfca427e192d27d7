#include <gtest/gtest.h>

#include "graph/compiled_graph.h"
#include "graph/passes.h"
#include "tests/graph/graphs.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;

std::string fused_pointwise(const std::vector<Shape>& shapes, const std::function<Arrays(const Arrays&)>& body) {
  Lowered graph = traced(shapes, body);
  fuse(graph);
  return to_text(graph);
}

TEST(Fuse, NeighboursBecomeOneStep) {
  EXPECT_EQ(fused_pointwise({{2, 3}, {2, 3}},
                            [](const Arrays& in) -> Arrays {
                              const NDArray sum = call("elemwise_add", {in[0], in[1]});
                              return {call("relu", {call("_mul_scalar", {sum}, {{"scalar", 2.0}})})};
                            }),
            "%0 = input : float32 (2, 3)\n"
            "%1 = input : float32 (2, 3)\n"
            "%4 = _fused(%0, %1) : float32 (2, 3)\n"
            "return %4\n");
}

TEST(Fuse, WhatOthersReadIsWrittenToo) {
  EXPECT_EQ(fused_pointwise({{4}},
                            [](const Arrays& in) -> Arrays {
                              const NDArray a = call("tanh", {in[0]}), b = call("square", {a});
                              return {a, b};
                            }),
            "%0 = input : float32 (4,)\n"
            "%1, %2 = _fused(%0) : float32 (4,)\n"
            "return %1 %2\n");
}

TEST(Fuse, BranchesThatMeetAreOneStep) {
  EXPECT_EQ(fused_pointwise({{4}, {4}, {4}},
                            [](const Arrays& in) -> Arrays {
                              const NDArray a = call("tanh", {in[0]}), b = call("sigmoid", {in[1]});
                              const NDArray c = call("elemwise_mul", {call("square", {in[2]}), b});
                              return {call("elemwise_add", {call("elemwise_mul", {a, b}), c})};
                            }),
            "%0 = input : float32 (4,)\n"
            "%1 = input : float32 (4,)\n"
            "%2 = input : float32 (4,)\n"
            "%8 = _fused(%0, %1, %2) : float32 (4,)\n"
            "return %8\n");
}

TEST(Fuse, ABranchThatAReductionNeedsStaysBeforeIt) {
  const std::string text = fused_pointwise({{2, 3}, {2, 3}}, [](const Arrays& in) -> Arrays {
    const NDArray a = call("tanh", {in[0]});
    const NDArray s = call("sum", {a}, {{"axis", Shape{1}}, {"keepdims", true}});
    const NDArray b = call("broadcast_sub", {call("sigmoid", {in[1]}), s});
    return {call("elemwise_mul", {a, b})};
  });
  EXPECT_EQ(text,
            "%0 = input : float32 (2, 3)\n"
            "%1 = input : float32 (2, 3)\n"
            "%2 = tanh(%0) : float32 (2, 3)\n"
            "%3 = sum(%2, axis=(1,), keepdims=True) : float32 (2, 1)\n"
            "%6 = _fused(%1, %3, %2) : float32 (2, 3)\n"
            "return %6\n");
}

TEST(Fuse, ReductionsBetweenStay) {
  EXPECT_EQ(fused_pointwise({{2, 3}},
                            [](const Arrays& in) -> Arrays {
                              const NDArray a = call("tanh", {in[0]});
                              const NDArray s = call("sum", {a}, {{"axis", Shape{1}}, {"keepdims", true}});
                              return {call("broadcast_sub", {a, s})};
                            }),
            "%0 = input : float32 (2, 3)\n"
            "%1 = tanh(%0) : float32 (2, 3)\n"
            "%2 = sum(%1, axis=(1,), keepdims=True) : float32 (2, 1)\n"
            "%3 = broadcast_sub(%1, %2) : float32 (2, 3)\n"
            "return %3\n");
}

TEST(Fuse, OtherShapesStay) {
  EXPECT_EQ(fused_pointwise({{2, 3}, {3}},
                            [](const Arrays& in) -> Arrays {
                              return {call("broadcast_add", {in[0], call("tanh", {in[1]})})};
                            }),
            "%0 = input : float32 (2, 3)\n"
            "%1 = input : float32 (3,)\n"
            "%2 = tanh(%1) : float32 (3,)\n"
            "%3 = broadcast_add(%0, %2) : float32 (2, 3)\n"
            "return %3\n");
}

TEST(Fuse, AGroupEndsWhereAViewOfItIsRead) {
  const std::string text = fused_pointwise({{3, 3}}, [](const Arrays& in) -> Arrays {
    const NDArray a = call("tanh", {in[0]});
    return {call("elemwise_add", {call("square", {a}), call("transpose", {a})})};
  });
  EXPECT_EQ(text,
            "%0 = input : float32 (3, 3)\n"
            "%1, %2 = _fused(%0) : float32 (3, 3)\n"
            "%3 = view transpose(%1) : float32 (3, 3) strided\n"
            "%4 = elemwise_add(%2, %3) : float32 (3, 3)\n"
            "return %4\n");
}

TEST(Fuse, ViewsThatGiveAnotherShapeAreLookedThrough) {
  EXPECT_EQ(fused_pointwise({{2, 3}, {6}},
                            [](const Arrays& in) -> Arrays {
                              const NDArray flat = call("_reshape_to", {call("tanh", {in[0]})}, {{"shape", Shape{6}}});
                              return {call("elemwise_mul", {flat, in[1]})};
                            }),
            "%0 = input : float32 (2, 3)\n"
            "%1 = input : float32 (6,)\n"
            "%4 = _fused(%0, %1) : float32 (6,)\n"
            "return %4\n");
}

TEST(Fuse, ResultsHaveTheirOwnShapes) {
  const std::string text = fused_pointwise({{2, 3}}, [](const Arrays& in) -> Arrays {
    const NDArray a = call("tanh", {in[0]});
    const NDArray row = call("_reshape_to", {a}, {{"shape", Shape{1, 6}}});
    const NDArray column = call("_reshape_to", {row}, {{"shape", Shape{6, 1}}});
    const NDArray b = call("square", {row}), c = call("relu", {column});
    return {a, b, c, call("sum", {column}, {{"axis", Shape{0}}})};
  });
  EXPECT_EQ(text,
            "%0 = input : float32 (2, 3)\n"
            "%1, %4, %5 = _fused(%0) : float32 (2, 3)\n"
            "%2 = view _reshape_to(%1, shape=(1, 6)) : float32 (1, 6)\n"
            "%3 = view _reshape_to(%2, shape=(6, 1)) : float32 (6, 1)\n"
            "%6 = sum(%3, axis=(0,)) : float32 (1,)\n"
            "return %1 %4 %5 %6\n");
}

TEST(Fuse, WhatIsBroadcastInAnotherShapeStays) {
  const auto broadcast = [](const Arrays& in) -> Arrays {
    const NDArray a = call("_reshape_to", {call("tanh", {in[0]})}, {{"shape", Shape{3, 1}}});
    return {call("broadcast_add", {a, in[1]})};
  };
  const std::string spread = fused_pointwise({{3}, {3, 4}}, broadcast);
  EXPECT_EQ(spread.find("_fused"), std::string::npos) << spread;
  const auto bias = [](const Arrays& in) -> Arrays {
    const NDArray sum = call("broadcast_add", {in[0], in[1]});
    return {call("relu", {call("_reshape_to", {sum}, {{"shape", Shape{6}}})})};
  };
  const std::string biased = fused_pointwise({{2, 3}, {3}}, bias);
  EXPECT_EQ(biased.find("_fused"), std::string::npos) << biased;
}

TEST(Fuse, ShapesChangeNoBit) {
  const auto body = [](const Arrays& in) -> Arrays {
    const NDArray a = call("elemwise_sub", {call("_reshape_to", {in[0]}, {{"shape", Shape{5, 1, 7}}}), in[1]});
    const NDArray b = call("square", {call("_reshape_to", {a}, {{"shape", Shape{35}}})});
    const NDArray c = call("elemwise_mul", {b, call("_reshape_to", {in[0]}, {{"shape", Shape{35}}})});
    return {a, call("tanh", {call("_reshape_to", {c}, {{"shape", Shape{7, 5}}})})};
  };
  const std::vector<Shape> shapes = {{35}, {5, 1, 7}};
  Lowered graph = traced(shapes, body);
  fuse(graph);
  EXPECT_EQ(std::ranges::count_if(graph.steps, [](const Step& step) { return !step.is_view; }), 1) << to_text(graph);
  const CompiledGraph compiled(std::move(graph));
  const Arrays given = {varied({35}, DType::kFloat32, 1), varied({5, 1, 7}, DType::kFloat32, 2)};
  const Arrays expected = body(given), got = {NDArray::empty({5, 1, 7}), NDArray::empty({7, 5})};
  for (const NDArray& one : given) one.wait_to_read();
  View* in[] = {given[0].view().get(), given[1].view().get()};
  View* out[] = {got[0].view().get(), got[1].view().get()};
  compiled.run(in, out, nullptr, {});
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_EQ(got[k].to_vector<float>(), expected[k].to_vector<float>());
}

// The running mean is read before batch normalisation moves it.
Arrays reads_before_change(const Arrays& in) {
  const NDArray before = call("_plus_scalar", {in[3]}, {{"scalar", 1.0}});
  static const OpDef& op = find_op("BatchNorm");
  const NDArray y = invoke_all(op, attrs_of(op, {{"fix_gamma", false}}), Arrays(in.begin(), in.begin() + 5))[0];
  const NDArray after = call("_plus_scalar", {in[3]}, {{"scalar", 1.0}});
  return {y, call("_mul_scalar", {before}, {{"scalar", 3.0}}), after};
}

TEST(Fuse, ReadsDoNotMovePastChanges) {
  Lowered graph = traced({{4, 2}, {2}, {2}, {2}, {2}}, reads_before_change, DType::kFloat32, true);
  optimize(graph);
  fuse(graph);
  const std::string text = to_text(graph);
  const size_t change = text.find("_batch_norm_train"), read = text.find("= _plus_scalar(%3");
  ASSERT_NE(change, std::string::npos) << text;
  EXPECT_LT(read, change) << text;
  EXPECT_NE(text.find("= _plus_scalar(%3", read + 1), std::string::npos) << "read again after the change\n" << text;
}

TEST(Fuse, RandomStepsStay) {
  const std::string text = fused_pointwise({{2, 3}}, [](const Arrays& in) -> Arrays {
    static const OpDef& uniform = find_op("_random_uniform");
    const NDArray a = call(uniform, attrs_of(uniform, {{"shape", Shape{2, 3}}}), {});
    return {call("elemwise_add", {in[0], a})};
  });
  EXPECT_EQ(text.find("_fused"), std::string::npos) << text;
}

TEST(Fuse, SetsAreLimited) {
  Lowered graph = traced({{4}}, [](const Arrays& in) -> Arrays {
    NDArray y = in[0];
    for (int i = 0; i < 100; ++i) y = call("_plus_scalar", {y}, {{"scalar", 1.0}});
    return {y};
  });
  fuse(graph);
  EXPECT_GT(graph.steps.size(), 3u);
  EXPECT_LT(graph.steps.size(), 10u);
}

}  // namespace
}  // namespace headrace
