// Every operator of the catalogue, on the samples of its definition, on any device: alone and in a graph, with operands
// that are not packed, and for gradients.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "graph/cached_op.h"
#include "graph/nodes.h"
#include "headrace/autograd.hpp"
#include "headrace/devices.hpp"
#include "headrace/symbol.hpp"
#include "op/catalogue.h"
#include "op/invoke.h"
#include "op/thread_state.h"
#include "tests/support/arrays.h"

namespace headrace::test {

// The values of a sample; where it names none, drawn from its range.
inline NDArray sampled(const SampleArray& sample, uint64_t seed) {
  int64_t count = 1;
  for (int64_t extent : sample.shape) count *= extent;
  std::mt19937_64 random(seed);
  std::vector<double> values = sample.values;
  while (static_cast<int64_t>(values.size()) < count)
    values.push_back(sample.low + (sample.high - sample.low) * static_cast<double>(random() % 1000) / 1000);
  return cast_to(NDArray::from_host(values.data(), sample.shape, DType::kFloat64), sample.dtype);
}

// The same elements, with the axes in the opposite order in memory.
inline NDArray strided(const NDArray& array) {
  return array.ndim() < 2 ? array : call("transpose", {contiguous(call("transpose", {array}))});
}

enum class Way { kAlone, kStrided, kGraph, kGradient };

inline std::vector<NDArray> run_graph(const OpDef& op, const AttrsPtr& attrs, const std::vector<NDArray>& inputs) {
  NodePtr node(new Node);
  node->op = &op;
  node->attrs = attrs;
  node->label = std::make_unique<NodeLabel>();
  for (size_t i = 0; i < inputs.size(); ++i)
    node->inputs.push_back(Symbol::variable("x" + std::to_string(i)).outputs()[0]);
  std::vector<NDArray> outputs;
  for (size_t k = 0; k < output_count(op, *attrs); ++k)
    outputs.push_back(output_of(node.get(), static_cast<uint32_t>(k)));
  return outputs.empty() ? outputs : CachedOp(Symbol(outputs))(inputs);
}

// The results, and what became of the inputs; the gradients instead where they are asked for.
inline std::vector<NDArray> run(const OpDef& op, const Sample& sample, Way way, Device device) {
  std::vector<NDArray> inputs;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const NDArray input = sampled(sample.inputs[i], i);
    inputs.push_back(as_in_context(way == Way::kStrided ? strided(input) : input, device));
  }
  const AttrsPtr attrs = sample.attrs ? sample.attrs : op.default_attrs;
  thread_state().device = device;
  std::vector<NDArray> results;
  try {
    if (way == Way::kGraph) {
      results = run_graph(op, attrs, inputs);
    } else if (way == Way::kGradient) {
      for (NDArray& input : inputs) autograd::attach_grad(input);
      std::vector<NDArray> outputs;
      {
        const autograd::RecordScope scope;
        outputs = invoke_all(op, attrs, inputs);
      }
      if (!outputs.empty()) autograd::backward(outputs[0]);
      for (const NDArray& input : inputs) results.push_back(autograd::grad_of(input));
    } else {
      results = invoke_all(op, attrs, inputs);
    }
  } catch (...) {
    thread_state().device = {};
    throw;
  }
  thread_state().device = {};
  if (way != Way::kGradient) results.insert(results.end(), inputs.begin(), inputs.end());
  return results;
}

// Or why the operator refuses.
struct Outcome {
  std::vector<NDArray> results;
  std::string error;
};

inline Outcome outcome(const OpDef& op, const Sample& sample, Way way, Device device) {
  try {
    std::vector<NDArray> results = run(op, sample, way, device);
    for (NDArray& result : results) {
      result = as_in_context(result, {});
      result.wait_to_read();
    }
    return {results, {}};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

}  // namespace headrace::test
