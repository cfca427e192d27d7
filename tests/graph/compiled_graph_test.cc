#include "graph/compiled_graph.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/runtime.h"
#include "graph/passes.h"
#include "graphs.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;

NDArray run(const CompiledGraph& compiled, const NDArray& input) {
  const View& type = *compiled.graph().values[static_cast<size_t>(compiled.graph().outputs[0])].type;
  const NDArray output = NDArray::empty(type.shape(), type.dtype());
  View* in[] = {input.view().get()};
  View* out[] = {output.view().get()};
  compiled.run(in, out, nullptr, {});
  return output;
}

TEST(CompiledGraph, ValuesShareMemory) {
  const CompiledGraph compiled(traced({{1000}}, [](const Arrays& in) -> Arrays {
    NDArray y = in[0];
    for (int i = 0; i < 10; ++i) y = call("cumsum", {y});
    return {y};
  }));
  EXPECT_LE(compiled.scratch_bytes(), 2 * 4032u);  // nine values, two alive at once
}

TEST(CompiledGraph, ResultsOverwriteWhatNobodyReadsAgain) {
  const CompiledGraph compiled(traced({{1000}}, [](const Arrays& in) -> Arrays {
    NDArray y = call("cumsum", {in[0]});
    for (int i = 0; i < 5; ++i) y = call("tanh", {y});
    return {call("cumsum", {y})};
  }));
  EXPECT_EQ(compiled.scratch_bytes(), 4032u);
}

TEST(CompiledGraph, ValuesTakeThePlaceOfInputsThatNobodyReadsAgain) {
  // Of both inputs, which lie in one block, the second is read later.
  const Lowered graph = traced({{1000}, {1000}}, [](const Arrays& in) -> Arrays {
    NDArray y = call("cumsum", {in[0]});
    for (int i = 0; i < 4; ++i) y = call("cumsum", {y});
    return {call("elemwise_add", {y, in[1]})};
  });
  const std::vector<CompiledGraph::InputInBlock> places{{0, 0, 4000}, {1, 4032, 4000}};
  const CompiledGraph compiled(graph, {}, std::numeric_limits<double>::infinity(), places);
  EXPECT_EQ(compiled.scratch_bytes(), 2 * 4032u);
  EXPECT_EQ(compiled.block_bytes(), 3 * 4032u);
  const NDArray block = full({static_cast<int64_t>(compiled.block_bytes() / 4)}, 0, DType::kFloat32, Device{});
  const auto part = [&](int64_t begin) {
    return call("slice_axis", {block}, {{"axis", int64_t{0}}, {"begin", begin}, {"end", begin + 1000}});
  };
  NDArray x = part(0), y = part(1008);
  copy_into(x, varied({1000}, DType::kFloat32, 3));
  copy_into(y, varied({1000}, DType::kFloat32, 4));
  const NDArray expected = NDArray::empty({1000}, DType::kFloat32), actual = NDArray::empty({1000}, DType::kFloat32);
  runtime().engine.wait_all();
  View* in[] = {x.view().get(), y.view().get()};
  View* out[] = {expected.view().get()};
  compiled.run(in, out, nullptr, {});
  out[0] = actual.view().get();
  for (const CompiledGraph::Segment& segment : compiled.segments())
    compiled.run_segment(segment, in, out, nullptr, {}, block.view()->storage_ptr(),
                         CompiledGraph::Scratch::kOverInputs);
  EXPECT_EQ(actual.to_vector<float>(), expected.to_vector<float>());
}

TEST(CompiledGraph, ResultsDoNotOverwriteWhatTheyReadElsewhere) {
  const CompiledGraph compiled(traced({{2, 2}}, [](const Arrays& in) -> Arrays {
    const NDArray a = call("_mul_scalar", {in[0]}, {{"scalar", 2.0}});
    const NDArray sum = call("elemwise_add", {a, call("transpose", {a})});
    return {call("dot", {sum, sum})};
  }));
  const NDArray x = array({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(run(compiled, x).to_vector<float>(), (std::vector<float>{116, 200, 200, 356}));
}

TEST(CompiledGraph, ConstantsThatAreViews) {
  const NDArray table = array({9, 9, 1, 2, 3, 4});
  const NDArray part = call("slice_axis", {table}, {{"axis", int64_t{0}}, {"begin", int64_t{2}}, {"end", int64_t{6}}});
  const CompiledGraph compiled(traced({{2, 2}}, [&](const Arrays& in) -> Arrays {
    const NDArray square = call("_reshape_to", {part}, {{"shape", Shape{2, 2}}});
    return {call("elemwise_add", {in[0], call("transpose", {square})})};
  }));
  EXPECT_EQ(run(compiled, array({0, 0, 0, 10}, {2, 2})).to_vector<float>(), (std::vector<float>{1, 3, 2, 14}));
}

TEST(CompiledGraph, CopiesOfViewsBeginAtTheirOwnStart) {
  Lowered graph = traced({{4}}, [](const Arrays& in) -> Arrays {
    const NDArray a = call("square", {in[0]});
    const NDArray tail = call("slice_axis", {a}, {{"axis", int64_t{0}}, {"begin", int64_t{1}}, {"end", int64_t{4}}});
    const NDArray copy = call("_copy", {tail});
    return {call("slice_axis", {copy}, {{"axis", int64_t{0}}, {"begin", int64_t{1}}, {"end", int64_t{3}}})};
  });
  optimize(graph);
  EXPECT_EQ(run(CompiledGraph(std::move(graph)), array({1, 2, 3, 4})).to_vector<float>(), (std::vector<float>{9, 16}));
}

}  // namespace
}  // namespace headrace
