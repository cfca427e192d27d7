#include <numeric>
#include <unordered_map>

#include "graph/passes.h"

namespace headrace {
namespace {

size_t hash_of(const Step& step) {
  size_t hash = std::hash<const void*>()(step.op);
  for (int id : step.inputs) hash = hash * 1099511628211ull ^ static_cast<size_t>(id);
  return hash;
}

bool same_computation(const Step& a, const Step& b) {
  return a.op == b.op && a.inputs == b.inputs && a.outputs.size() == b.outputs.size() && a.ticket == b.ticket &&
         (a.attrs == b.attrs || attrs_equal(*a.attrs, *b.attrs));
}

}  // namespace

void merge_common_subexpressions(Lowered& graph) {
  std::vector<int> same_as(graph.values.size());
  std::iota(same_as.begin(), same_as.end(), 0);
  std::unordered_multimap<size_t, size_t> known;         // hash -> step
  std::vector<size_t> changes(graph.values.size());      // how often each root was changed so far
  std::vector<size_t> seen_changes(graph.steps.size());  // of the inputs together, when the step read them
  std::vector<uint8_t> is_output(graph.values.size());
  for (int id : graph.outputs)
    if (id >= 0) is_output[static_cast<size_t>(id)] = true;
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    Step& step = graph.steps[s];
    for (int& id : step.inputs) id = same_as[static_cast<size_t>(id)];
    for (int id : step.outputs) {
      int& root = graph.values[static_cast<size_t>(id)].root;
      root = same_as[static_cast<size_t>(root)];
    }
    for (int id : step.inputs)
      seen_changes[s] += changes[static_cast<size_t>(graph.values[static_cast<size_t>(id)].root)];
    for (int root : graph.changed_by(step)) ++changes[static_cast<size_t>(root)];
    bool may_merge = !step.op->is_random && step.op->mutates == kNothing;
    for (int id : step.outputs) may_merge &= !is_output[static_cast<size_t>(id)];
    if (!may_merge) continue;
    const size_t hash = hash_of(step);
    bool merged = false;
    for (auto [it, end] = known.equal_range(hash); it != end && !merged; ++it) {
      const Step& first = graph.steps[it->second];
      if (!same_computation(first, step) || seen_changes[it->second] != seen_changes[s]) continue;
      for (size_t k = 0; k < step.outputs.size(); ++k) same_as[static_cast<size_t>(step.outputs[k])] = first.outputs[k];
      merged = true;
    }
    if (!merged) known.emplace(hash, s);
  }
}

}  // namespace headrace
