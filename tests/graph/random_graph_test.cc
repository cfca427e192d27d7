// Random graphs give the same bits however they run: operator by operator, as a compiled graph, as a fused one, and
// compiled with their gradients.
#include "random_graph.h"

#include <gtest/gtest.h>

#include "autograd/autograd.h"
#include "graph/cached_op.h"
#include "graph/compiled_graph.h"
#include "graph/passes.h"
#include "op/thread_state.h"
#include "tests/support/sanitizers.h"

namespace headrace {
namespace {

constexpr uint64_t kSeeds = test::kIsSanitized ? 40 : 400;

class RandomGraphs : public testing::TestWithParam<DType> {
 protected:
  ~RandomGraphs() override { thread_state().recording = thread_state().training = false; }
};

std::vector<std::string> bytes_of_all(const std::vector<NDArray>& arrays) {
  std::vector<std::string> all;
  for (const NDArray& array : arrays) all.push_back(bytes_of(array));
  return all;
}

// Values of the outputs, then what became of the inputs.
std::vector<std::string> evaluated(const RandomGraph& graph) {
  const std::vector<NDArray> inputs = graph.inputs();
  const std::vector<Node*> variables = inputs_of(graph.symbol.outputs()).all;
  Bindings bindings;
  for (size_t i = 0; i < inputs.size(); ++i) bindings.emplace(variables[i], inputs[i]);
  std::vector<NDArray> results = evaluate(graph.symbol.outputs(), bindings);
  results.insert(results.end(), inputs.begin(), inputs.end());
  return bytes_of_all(results);
}

std::string text_of(const RandomGraph& graph, bool fused, std::vector<std::string>* results) {
  const std::vector<NDArray> inputs = graph.inputs();
  const std::vector<Node*> variables = inputs_of(graph.symbol.outputs()).all;
  Lowered lowered;
  {
    TraceScope scope(thread_state().training);
    Bindings bindings;
    std::vector<NDArray> abstract;
    for (size_t i = 0; i < inputs.size(); ++i) {
      abstract.push_back(abstract_variable(inputs[i].shape(), inputs[i].dtype()));
      bindings.emplace(variables[i], abstract.back());
    }
    lowered = lower(abstract, evaluate(graph.symbol.outputs(), bindings));
  }
  if (fused) {
    optimize(lowered);
    fuse(lowered);
    fuse_prologues(lowered);
  }
  const std::string text = to_text(lowered);
  const CompiledGraph compiled(std::move(lowered));
  std::vector<NDArray> arrays = inputs;
  for (int id : compiled.graph().outputs) {
    const View& type = *compiled.graph().values[static_cast<size_t>(id)].type;
    arrays.push_back(NDArray(make_view(type.shape(), type.dtype(), Device{}, type.strides())));
  }
  std::vector<View*> views;
  for (const NDArray& array : arrays) {
    array.wait_to_read();
    views.push_back(array.view().get());
  }
  compiled.run({views.data(), inputs.size()}, std::span(views).subspan(inputs.size()), nullptr,
               compiled.draw().tickets);
  std::rotate(arrays.begin(), arrays.begin() + static_cast<ptrdiff_t>(inputs.size()), arrays.end());
  *results = bytes_of_all(arrays);
  return text;
}

TEST_P(RandomGraphs, PlansLeaveTheBitsOfTheOperators) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomGraph graph(seed, GetParam());
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + graph.symbol.to_json());
    thread_state().training = seed % 2 == 1;
    const std::vector<std::string> expected = evaluated(graph);
    for (bool fused : {false, true}) {
      std::vector<std::string> results;
      const std::string text = text_of(graph, fused, &results);
      ASSERT_TRUE(results == expected) << text;
    }
  }
}

// Outputs, inputs afterwards, gradients.
std::vector<std::string> differentiated(const RandomGraph& graph, bool compile, std::string* text = nullptr) {
  CachedOp op(graph.symbol, {.compile = compile});
  std::vector<NDArray> inputs = graph.inputs();
  const std::vector<bool> auxiliary = inputs_of(graph.symbol.outputs()).is_auxiliary;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!auxiliary[i])
      autograd::mark_variable(inputs[i], zeros_like(inputs[i]), i % 3 ? GradReq::kWrite : GradReq::kAdd);
  std::vector<NDArray> results;
  for (int round = 0; round < 2; ++round) {
    thread_state().recording = true;
    const std::vector<NDArray> outputs = op(inputs);
    thread_state().recording = false;
    std::vector<NDArray> heads, head_gradients;
    for (size_t k = 0; k < outputs.size(); ++k) {
      results.push_back(outputs[k]);
      if (!outputs[k].node() || !is_floating(outputs[k].dtype())) continue;
      heads.push_back(outputs[k]);
      head_gradients.push_back(varied(outputs[k].shape(), outputs[k].dtype(), k + 99));
    }
    try {
      for (const bool retain : {true, false})  // the last one computes where the forward half has kept values
        if (!heads.empty()) autograd::backward(heads, head_gradients, retain, thread_state().training);
    } catch (const Error&) {
    }
  }
  for (NDArray& input : inputs) {
    results.push_back(input);
    if (input.node()) results.push_back(input.node()->gradient);
  }
  if (text) {
    thread_state().recording = true;
    *text = op.explain(inputs);
    thread_state().recording = false;
  }
  return bytes_of_all(results);
}

TEST_P(RandomGraphs, GradientsOfCompiledGraphsHaveTheBitsOfTheTape) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomGraph graph(seed, GetParam());
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + graph.symbol.to_json());
    thread_state().training = seed % 2 == 1;
    std::string text;
    const auto expected = differentiated(graph, false), actual = differentiated(graph, true, &text);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) ASSERT_TRUE(actual[i] == expected[i]) << "result " << i << "\n" << text;
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, RandomGraphs,
                         testing::Values(DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16,
                                         DType::kInt32),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

}  // namespace
}  // namespace headrace
