// Plans cut into segments.
#include <gtest/gtest.h>

#include "graph/compiled_graph.h"
#include "graph/passes.h"
#include "graphs.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;

// Three outputs, each computed from those before.
CompiledGraph chain(double segment_ns) {
  return CompiledGraph(traced({{64, 64}},
                              [](const Arrays& in) -> Arrays {
                                const NDArray a = call("dot", {in[0], in[0]}), b = call("dot", {a, in[0]});
                                const NDArray hidden = call("tanh", {b}), c = call("dot", {hidden, a});
                                return {a, b, c};
                              }),
                       {}, segment_ns);
}

std::vector<NDArray> run_in_segments(const CompiledGraph& compiled, const NDArray& input) {
  std::vector<NDArray> outputs;
  std::vector<View*> views;
  for (int id : compiled.graph().outputs) {
    const View& type = *compiled.graph().values[static_cast<size_t>(id)].type;
    outputs.push_back(NDArray::empty(type.shape(), type.dtype()));
    views.push_back(outputs.back().view().get());
  }
  View* in[] = {input.view().get()};
  const StoragePtr scratch = compiled.make_scratch({});
  for (const CompiledGraph::Segment& segment : compiled.segments())
    compiled.run_segment(segment, in, views, nullptr, {}, scratch);
  return outputs;
}

TEST(Segments, APlanIsOneUnlessItIsCut) {
  const CompiledGraph compiled = chain(std::numeric_limits<double>::infinity());
  ASSERT_EQ(compiled.segments().size(), 1u);
  EXPECT_EQ(compiled.segments()[0].writes, (std::vector<size_t>{0, 1, 2}));
  EXPECT_TRUE(compiled.segments()[0].reads.empty());
  EXPECT_EQ(compiled.segments()[0].inputs, std::vector<size_t>{0});
  EXPECT_EQ(compiled.segments()[0].cost_ns, compiled.cost_ns());
}

TEST(Segments, CutsAreWhereOutputsAreComplete) {
  const CompiledGraph compiled = chain(1);
  ASSERT_EQ(compiled.segments().size(), 3u);
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(compiled.segments()[k].writes, std::vector<size_t>{k});
  EXPECT_EQ(compiled.segments()[1].reads, std::vector<size_t>{0});
  EXPECT_EQ(compiled.segments()[2].reads, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(compiled.segments()[1].inputs, std::vector<size_t>{0});
  EXPECT_TRUE(compiled.segments()[2].inputs.empty());
  EXPECT_EQ(compiled.segments()[0].end, compiled.segments()[1].begin);
  EXPECT_EQ(compiled.segments()[2].end, compiled.graph().steps.size());
}

TEST(Segments, TheyAreNoShorterThanAskedFor) {
  const CompiledGraph whole = chain(std::numeric_limits<double>::infinity());
  const CompiledGraph halves = chain(whole.cost_ns() * 0.4);
  ASSERT_EQ(halves.segments().size(), 2u);
  for (const CompiledGraph::Segment& segment : halves.segments()) EXPECT_GE(segment.cost_ns, whole.cost_ns() * 0.4);
}

TEST(Segments, TheResultsAreThoseOfTheWhole) {
  const NDArray x = varied({64, 64}, DType::kFloat32, 3);
  const std::vector<NDArray> whole = run_in_segments(chain(std::numeric_limits<double>::infinity()), x);
  const std::vector<NDArray> parts = run_in_segments(chain(1), x);
  for (size_t k = 0; k < whole.size(); ++k) EXPECT_EQ(bytes_of(whole[k]), bytes_of(parts[k]));
}

}  // namespace
}  // namespace headrace
