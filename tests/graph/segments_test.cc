// Plans cut into segments.
#include <gtest/gtest.h>

#include "graph/passes.h"
#include "graph/plan.h"
#include "graphs.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;

// Three outputs, each computed from those before.
Plan chain(double segment_ns) {
  return Plan(traced({{64, 64}},
                     [](const Arrays& in) -> Arrays {
                       const NDArray a = call("dot", {in[0], in[0]}), b = call("dot", {a, in[0]});
                       const NDArray hidden = call("tanh", {b}), c = call("dot", {hidden, a});
                       return {a, b, c};
                     }),
              {}, segment_ns);
}

std::vector<NDArray> run_in_segments(const Plan& plan, const NDArray& input) {
  std::vector<NDArray> outputs;
  std::vector<View*> views;
  for (int id : plan.graph().outputs) {
    const View& type = *plan.graph().values[static_cast<size_t>(id)].type;
    outputs.push_back(NDArray::empty(type.shape(), type.dtype()));
    views.push_back(outputs.back().view().get());
  }
  View* in[] = {input.view().get()};
  const StoragePtr scratch = plan.make_scratch({});
  for (const Plan::Segment& segment : plan.segments()) plan.run_segment(segment, in, views, nullptr, {}, scratch);
  return outputs;
}

TEST(Segments, APlanIsOneUnlessItIsCut) {
  const Plan plan = chain(std::numeric_limits<double>::infinity());
  ASSERT_EQ(plan.segments().size(), 1u);
  EXPECT_EQ(plan.segments()[0].writes, (std::vector<size_t>{0, 1, 2}));
  EXPECT_TRUE(plan.segments()[0].reads.empty());
  EXPECT_EQ(plan.segments()[0].inputs, std::vector<size_t>{0});
  EXPECT_EQ(plan.segments()[0].cost_ns, plan.cost_ns());
}

TEST(Segments, CutsAreWhereOutputsAreComplete) {
  const Plan plan = chain(1);
  ASSERT_EQ(plan.segments().size(), 3u);
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(plan.segments()[k].writes, std::vector<size_t>{k});
  EXPECT_EQ(plan.segments()[1].reads, std::vector<size_t>{0});
  EXPECT_EQ(plan.segments()[2].reads, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(plan.segments()[1].inputs, std::vector<size_t>{0});
  EXPECT_TRUE(plan.segments()[2].inputs.empty());
  EXPECT_EQ(plan.segments()[0].end, plan.segments()[1].begin);
  EXPECT_EQ(plan.segments()[2].end, plan.graph().steps.size());
}

TEST(Segments, TheyAreNoShorterThanAskedFor) {
  const Plan whole = chain(std::numeric_limits<double>::infinity());
  const Plan halves = chain(whole.cost_ns() * 0.4);
  ASSERT_EQ(halves.segments().size(), 2u);
  for (const Plan::Segment& segment : halves.segments()) EXPECT_GE(segment.cost_ns, whole.cost_ns() * 0.4);
}

TEST(Segments, TheResultsAreThoseOfTheWhole) {
  const NDArray x = varied({64, 64}, DType::kFloat32, 3);
  const std::vector<NDArray> whole = run_in_segments(chain(std::numeric_limits<double>::infinity()), x);
  const std::vector<NDArray> parts = run_in_segments(chain(1), x);
  for (size_t k = 0; k < whole.size(); ++k) EXPECT_EQ(bytes_of(whole[k]), bytes_of(parts[k]));
}

}  // namespace
}  // namespace headrace
