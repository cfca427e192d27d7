#include <algorithm>

#include "graph/passes.h"
#include "op/thread_state.h"

namespace headrace {
namespace {

constexpr int64_t kLargest = 1 << 16;  // elements; a larger result costs more to hold than to compute

bool is_constant(const Lowered& graph, int id) {
  return graph.values[static_cast<size_t>(id)].source == Value::Source::kConstant;
}

// What the graph itself changes later is no constant.
std::vector<uint8_t> changed_roots(const Lowered& graph) {
  std::vector<uint8_t> changed(graph.values.size());
  for (const Step& step : graph.steps)
    for (int root : graph.changed_by(step)) changed[static_cast<size_t>(root)] = true;
  return changed;
}

// From nothing, or from what was folded: what an array of the program holds may be another value at the next call.
bool can_fold(const Lowered& graph, const Step& step, const std::vector<uint8_t>& folded,
              const std::vector<uint8_t>& changed) {
  if (step.op->is_random || step.op->mutates != kNothing || step.is_view) return false;
  const auto is_fixed = [&](int id) { return folded[static_cast<size_t>(id)] && !changed[static_cast<size_t>(id)]; };
  if (!std::ranges::all_of(step.inputs, is_fixed)) return false;
  return std::all_of(step.outputs.begin(), step.outputs.end(), [&](int id) {
    return graph.values[static_cast<size_t>(id)].type->size() <= kLargest &&
           std::find(graph.outputs.begin(), graph.outputs.end(), id) == graph.outputs.end();
  });
}

}  // namespace

void fold_constants(Lowered& graph) {
  const ThreadStateScope scope([](ThreadState& state) { state.tracing = false; });
  const std::vector<uint8_t> changed = changed_roots(graph);
  std::vector<uint8_t> folded(graph.values.size());
  for (const Step& step : graph.steps) {
    if (!can_fold(graph, step, folded, changed)) continue;
    std::vector<NDArray> inputs;
    for (int id : step.inputs) inputs.push_back(graph.values[static_cast<size_t>(id)].constant);
    const std::vector<NDArray> results = invoke_all(*step.op, step.attrs, inputs);
    const bool fits = std::equal(results.begin(), results.end(), step.outputs.begin(), [&](const NDArray& r, int id) {
      return r.strides() == graph.values[static_cast<size_t>(id)].type->strides();
    });
    if (!fits) continue;
    for (size_t k = 0; k < results.size(); ++k) {
      Value& value = graph.values[static_cast<size_t>(step.outputs[k])];
      value.source = Value::Source::kConstant;
      value.constant = results[k];
      folded[static_cast<size_t>(step.outputs[k])] = true;
    }
  }
  std::erase_if(graph.steps,
                [&](const Step& step) { return !step.outputs.empty() && is_constant(graph, step.outputs[0]); });
}

}  // namespace headrace
