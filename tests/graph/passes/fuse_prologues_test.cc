#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "graph/compiled_graph.h"
#include "graph/passes.h"
#include "tests/graph/graphs.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;
using Body = std::function<Arrays(const Arrays&)>;
using testing::HasSubstr;
using testing::Not;

std::string fused_prologues(const std::vector<Shape>& shapes, const Body& body, DType dtype = DType::kFloat32) {
  Lowered graph = traced(shapes, body, dtype);
  fuse(graph);
  fuse_prologues(graph);
  return explain_graph(CompiledGraph(std::move(graph)));
}

NDArray reduced(const char* op, const NDArray& x, const Shape& axis, bool keepdims = false) {
  return call(op, {x}, {{"axis", axis}, {"keepdims", keepdims}});
}

TEST(FusePrologues, ElementsAreComputedOnTheWay) {
  const std::string text = fused_prologues({{2, 3}, {3}}, [](const Arrays& in) -> Arrays {
    return {reduced("mean", call("square", {call("broadcast_sub", {in[0], in[1]})}), {1})};
  });
  EXPECT_THAT(text, HasSubstr("%4 = _fused_reduction(%0, %1, axis=(1,)) : float32 (2,)\n"
                              "return %4\n"
                              "%4 fuses broadcast_sub, square, mean\n"
                              "1 steps"));
}

TEST(FusePrologues, ResultsGoOnInTheCaches) {
  const std::string text = fused_prologues({{2, 3}, {2}}, [](const Arrays& in) -> Arrays {
    const NDArray sum = reduced("sum", in[0], {1});
    return {call("tanh", {call("elemwise_add", {call("_mul_scalar", {sum}, {{"scalar", 0.1}}), in[1]})})};
  });
  EXPECT_THAT(text, HasSubstr("= _fused_reduction(%0, %1, axis=(1,)) : float32 (2,)\n"));
  EXPECT_THAT(text, HasSubstr("fuses sum, _mul_scalar, elemwise_add, tanh\n1 steps"));
}

TEST(FusePrologues, WhatOthersReadIsStored) {
  const std::string text = fused_prologues({{2, 3}}, [](const Arrays& in) -> Arrays {
    const NDArray y = call("tanh", {in[0]}), sum = reduced("sum", y, {1});
    return {y, sum, call("square", {sum})};
  });
  EXPECT_THAT(text, Not(HasSubstr("_fused_reduction")));
}

TEST(FusePrologues, ViewsBetweenStay) {
  const std::string text = fused_prologues({{2, 6}}, [](const Arrays& in) -> Arrays {
    const NDArray y = call("_reshape_to", {call("tanh", {in[0]})}, {{"shape", Shape{3, 4}}});
    return {call("exp", {call("_reshape_to", {reduced("sum", y, {1})}, {{"shape", Shape{3, 1}}})})};
  });
  EXPECT_THAT(text, Not(HasSubstr("_fused_reduction")));
}

TEST(FusePrologues, ResultsThatNeedWhatComesLaterStay) {
  const std::string text = fused_prologues({{2, 3}, {2, 2}}, [](const Arrays& in) -> Arrays {
    const NDArray sum = reduced("sum", in[0], {1});
    return {call("elemwise_add", {sum, call("cumsum", {reduced("max", in[1], {1})})})};
  });
  EXPECT_THAT(text, Not(HasSubstr("_fused_reduction")));
}

// A running mean that batch normalisation moves between the step that reads it and the reduction.
TEST(FusePrologues, ReadsDoNotMovePastChanges) {
  Lowered graph = traced(
      {{4, 2}, {2}, {2}, {2}, {2}},
      [](const Arrays& in) -> Arrays {
        const NDArray before = call("square", {in[3]});
        static const OpDef& op = find_op("BatchNorm");
        const NDArray y = invoke_all(op, attrs_of(op, {{"fix_gamma", false}}), in)[0];
        return {y, call("sum", {before})};
      },
      DType::kFloat32, true);
  fuse_prologues(graph);
  const std::string text = to_text(graph);
  EXPECT_LT(text.find("= square(%3)"), text.find("_batch_norm_train")) << text;
  EXPECT_THAT(text, HasSubstr("= sum("));
}

TEST(FusePrologues, ElementsOfAnotherTypeStay) {
  EXPECT_THAT(fused_prologues(
                  {{2, 3}}, [](const Arrays& in) -> Arrays { return {call("_npi_mean", {call("square", {in[0]})})}; },
                  DType::kInt32),
              Not(HasSubstr("_fused_reduction")));
}

TEST(FusePrologues, ShortPiecesStay) {
  const Body body = [](const Arrays& in) -> Arrays { return {reduced("sum", call("tanh", {in[0]}), {0, 2})}; };
  EXPECT_THAT(fused_prologues({{2, 3, 4}}, body), HasSubstr("_fused_reduction"));
  EXPECT_THAT(fused_prologues({{200, 30, 4}}, body), Not(HasSubstr("_fused_reduction")));
  EXPECT_THAT(fused_prologues({{200, 3, 400}}, body), HasSubstr("_fused_reduction"));
}

// --- bits ------------------------------------------------------------------------------------------------------------

std::vector<std::string> run_program(Lowered graph, const Arrays& inputs) {
  const CompiledGraph compiled(std::move(graph));
  std::vector<View*> reads, writes;
  Arrays results;
  for (const NDArray& input : inputs) {
    input.wait_to_read();
    reads.push_back(input.view().get());
  }
  for (int id : compiled.graph().outputs) {
    const View& type = *compiled.graph().values[static_cast<size_t>(id)].type;
    results.push_back(NDArray(make_view(type.shape(), type.dtype(), Device{}, type.strides())));
    writes.push_back(results.back().view().get());
  }
  compiled.run(reads, writes, nullptr, {});
  std::vector<std::string> bytes;
  for (const NDArray& result : results) bytes.push_back(bytes_of(result));
  return bytes;
}

class FusedReductionBits : public testing::TestWithParam<std::tuple<DType, Shape>> {};

// Every reduction over every set of axes, of computed elements, with and without work on the results.
TEST_P(FusedReductionBits, AreThoseOfTheSteps) {
  const auto& [dtype, shape] = GetParam();
  const Shape tail{shape.back()}, one{1};
  const Arrays inputs{varied(shape, dtype, 1), varied(tail, dtype, 2), varied(one, dtype, 3)};
  size_t fusions = 0;
  for (const char* op : {"sum", "mean", "max", "min", "prod", "nansum", "norm", "_np_sum", "_npi_mean", "_np_max"}) {
    for (uint64_t set = 1; set < uint64_t{1} << shape.size(); ++set) {
      Shape axes;
      for (size_t d = 0; d < shape.size(); ++d)
        if ((set >> d) & 1) axes.push_back(static_cast<int64_t>(d));
      const Body body = [&](const Arrays& in) -> Arrays {
        const NDArray elements = call("broadcast_mul", {call("broadcast_add", {in[0], in[1]}), in[0]});
        const NDArray result = reduced(op, call("_mul_scalar", {elements}, {{"scalar", 0.3}}), axes, true);
        return {call("broadcast_mul", {call("_plus_scalar", {result}, {{"scalar", 0.7}}), in[2]})};
      };
      Lowered plain = traced({shape, tail, one}, body, dtype), graph = plain;
      fuse(graph);
      fuse_prologues(graph);
      for (const Step& step : graph.steps) fusions += step.op->name == "_fused_reduction";
      SCOPED_TRACE(fmt::format("{} {}\n{}", op, to_string(axes), to_text(graph)));
      ASSERT_TRUE(run_program(std::move(graph), inputs) == run_program(std::move(plain), inputs));
    }
  }
  EXPECT_GT(fusions, 0u);
}

INSTANTIATE_TEST_SUITE_P(Types, FusedReductionBits,
                         testing::Combine(testing::Values(DType::kFloat32, DType::kFloat64, DType::kFloat16,
                                                          DType::kBfloat16),
                                          testing::Values(Shape{7, 5}, Shape{3000, 3}, Shape{3, 3000},
                                                          Shape{40, 9, 130}, Shape{11, 70, 12}, Shape{200000})),
                         [](const auto& info) {
                           std::string name(dtype_name(std::get<0>(info.param)));
                           for (int64_t extent : std::get<1>(info.param)) name += "_" + std::to_string(extent);
                           return name;
                         });

// --- dense layers ----------------------------------------------------------------------------------------------------

NDArray dense(const NDArray& x, const NDArray& weight, const NDArray& bias) {
  return call("FullyConnected", {x, weight, bias}, {{"num_hidden", weight.shape()[0]}});
}

TEST(FusePrologues, DenseLayersTakeTheirActivation) {
  const std::string text = fused_prologues({{2, 3}, {4, 3}, {4}, {5, 4}, {5}}, [](const Arrays& in) -> Arrays {
    return {call("tanh", {dense(call("relu", {dense(in[0], in[1], in[2])}), in[3], in[4])})};
  });
  EXPECT_THAT(text, HasSubstr("%6 = _fused_fully_connected(%0, %1, %2, num_hidden=4) : float32 (2, 4)\n"
                              "%8 = _fused_fully_connected(%6, %3, %4, num_hidden=5) : float32 (2, 5)\n"
                              "return %8\n"
                              "%6 fuses FullyConnected, relu\n"
                              "%8 fuses FullyConnected, tanh\n"));
}

TEST(FusePrologues, DenseLayersTakeTheShortcut) {
  const std::string text = fused_prologues({{2, 3}, {4, 3}, {4}, {2, 4}}, [](const Arrays& in) -> Arrays {
    return {call("relu", {call("elemwise_add", {in[3], dense(in[0], in[1], in[2])})})};
  });
  EXPECT_THAT(text, HasSubstr("= _fused_fully_connected(%0, %1, %2, %3, num_hidden=4)"));
  EXPECT_THAT(text, HasSubstr("fuses FullyConnected, elemwise_add, relu\n1 steps"));
}

TEST(FusePrologues, WhatBackwardReadsOfADenseLayerIsStored) {
  const Body body = [](const Arrays& in) -> Arrays { return {call("relu", {dense(in[0], in[1], in[2])})}; };
  Lowered graph = traced({{2, 3}, {4, 3}, {4}}, body);
  fuse_prologues(graph, graph.steps[0].outputs);
  EXPECT_THAT(to_text(graph), HasSubstr("= relu("));
}

TEST(FusePrologues, DenseLayersKeepTheirBits) {
  using Work = std::function<NDArray(const NDArray& y, const NDArray& shortcut)>;
  const Work works[] = {
      [](const NDArray& y, const NDArray&) { return call("relu", {y}); },
      [](const NDArray& y, const NDArray& r) {
        return call("elemwise_add", {y, r});
      },
      [](const NDArray& y, const NDArray& r) {
        return call("relu", {call("elemwise_add", {r, y})});
      },
      [](const NDArray& y, const NDArray&) {
        return call("relu", {call("elemwise_add", {y, y})});
      },
      [](const NDArray& y, const NDArray& r) {
        return call("sigmoid", {call("elemwise_mul", {y, r})});
      },
      [](const NDArray& y, const NDArray&) {
        return call("_plus_scalar", {call("tanh", {y})}, {{"scalar", 0.5}});
      },
      [](const NDArray& y, const NDArray&) {
        return call("broadcast_greater", {y, call("relu", {y})});
      },
  };
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    for (const auto& [rows, columns, depth] :
         {std::tuple{1, 64, 100}, {2, 3, 4}, {5, 33, 70}, {48, 1, 64}, {64, 96, 40}}) {
      const std::vector<Shape> shapes{{rows, depth}, {columns, depth}, {columns}, {rows, columns}};
      Arrays inputs;
      for (const Shape& shape : shapes) inputs.push_back(varied(shape, dtype, inputs.size()));
      for (const Work& work : works) {
        const Body body = [&](const Arrays& in) -> Arrays { return {work(dense(in[0], in[1], in[2]), in[3])}; };
        Lowered plain = traced(shapes, body, dtype), graph = plain;
        fuse(graph);
        fuse_prologues(graph);
        const std::string text = to_text(graph);
        SCOPED_TRACE(fmt::format("{} rows\n{}", rows, text));
        EXPECT_THAT(text, HasSubstr("_fused_fully_connected"));
        ASSERT_TRUE(run_program(std::move(graph), inputs) == run_program(std::move(plain), inputs));
      }
    }
  }
}

// oneDNN's own relu makes 0 of NaN.
TEST(FusePrologues, NanPassesThroughDenseLayersWithRelu) {
  const std::vector<Shape> shapes{{40, 50}, {60, 50}, {60}};
  Arrays inputs;
  for (const Shape& shape : shapes) inputs.push_back(varied(shape, DType::kFloat32, 1));
  std::vector<float> values = inputs[0].to_vector<float>();
  values[70] = std::numeric_limits<float>::quiet_NaN();
  inputs[0] = NDArray::from(std::span<const float>(values), shapes[0]);
  Lowered graph =
      traced(shapes, [](const Arrays& in) -> Arrays { return {call("relu", {dense(in[0], in[1], in[2])})}; });
  Lowered plain = graph;
  fuse_prologues(graph);
  EXPECT_TRUE(run_program(std::move(graph), inputs) == run_program(std::move(plain), inputs));
}

// The order of memory, not of the axes, decides over the bits of a sum.
TEST(FusePrologues, ElementsThatLieChannelsLastAreSummedInThatOrder) {
  const Shape shape{2, 70, 9, 8};
  for (const Shape& axes : {Shape{0, 2, 3}, Shape{1}, Shape{2, 3}, Shape{0, 1, 2, 3}}) {
    Lowered plain;
    {
      TraceScope scope(false);
      const NDArray x = abstract_variable(shape, DType::kFloat64, channels_last_strides(shape));
      plain = lower(Arrays{x}, Arrays{reduced("sum", call("exp", {x}), axes)});
    }
    Lowered graph = plain;
    fuse_prologues(graph);
    const NDArray x(make_view(shape, DType::kFloat64, Device{}, channels_last_strides(shape)));
    copy_into(x, varied(shape, DType::kFloat64, 5));
    EXPECT_THAT(to_text(graph), HasSubstr("_fused_reduction"));
    EXPECT_TRUE(run_program(std::move(graph), {x}) == run_program(std::move(plain), {x}))
        << fmt::format("{}", to_string(axes));
  }
}

}  // namespace
}  // namespace headrace
