#include "graph/evaluate.h"

#include "base/check.h"
#include "graph/control_flow.h"
#include "graph/infer.h"
#include "graph/nodes.h"
#include "ndarray/view.h"
#include "op/thread_state.h"

namespace headrace {
namespace {

// Nodes of symbols have labels, those that are only traced do not.
std::string name_of(const Node& node) { return node.label ? node.label->name : node.op ? node.op->name : "input"; }
bool has_bodies(const Node& node) { return node.label && !node.label->subgraphs.empty(); }

// Raises ValuesUnknown for a node that no compiled graph can hold.
void require_compilable(const Node& node) {
  if (node.op->open)
    throw ValuesUnknown(fmt::format("{} runs code of the program, which cannot be compiled", name_of(node)));
  if (node.op->meets_devices && node.op->meets_devices(*node.attrs))
    throw ValuesUnknown(fmt::format("{} waits for other devices, which cannot be compiled", name_of(node)));
}

// The results of a node's operator. What it raises names the node, since a network has many of each operator.
std::vector<NDArray> operator_results(const Node& node, const AttrsPtr& attrs, std::span<const NDArray> inputs) {
  if (!node.label) return invoke_all(*node.op, attrs, inputs);
  try {
    return invoke_all(*node.op, attrs, inputs);
  } catch (const ValuesUnknown&) {
    throw;
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("Error in operator {}: {}", node.label->name, error.what()));
  }
}

}  // namespace

std::vector<NDArray> evaluate(std::span<const NDArray> heads, const Bindings& variables) {
  const std::vector<Node*> order = topological_order(heads);
  std::unordered_map<const Node*, size_t> uses;  // readers still to come, so that values go when the last one had them
  for (const Node* node : order)
    for (const NDArray& input : node->inputs)
      if (input.node()) ++uses[input.node().get()];
  for (const NDArray& head : heads) ++uses[head.node().get()];

  const DeclaredShapes closed_shapes = close_shapes(heads, variables);
  std::unordered_map<const Node*, std::vector<NDArray>> values;
  const auto take = [&](const NDArray& entry) {
    if (!entry.node()) return entry;  // a constant
    const std::vector<NDArray>& known = values.at(entry.node().get());
    check(entry.output_index() < known.size(), ErrorKind::kRuntime, "{} has {} outputs; output {} was asked for",
          name_of(*entry.node()), known.size(), entry.output_index());
    NDArray value = known[entry.output_index()];
    if (--uses[entry.node().get()] == 0) values.erase(entry.node().get());
    return value;
  };
  for (Node* node : order) {
    if (!node->op) {
      auto found = variables.find(node);
      check(found != variables.end() && found->second, ErrorKind::kRuntime, "variable {} of the graph has no value",
            name_of(*node));
      values[node] = {found->second};
      continue;
    }
    std::vector<NDArray> inputs;
    for (const NDArray& input : node->inputs) inputs.push_back(take(input));
    if (thread_state().tracing && !thread_state().keeps_compositions) require_compilable(*node);
    const auto closed = closed_shapes.find(node);
    const AttrsPtr& attrs = closed == closed_shapes.end() ? node->attrs : closed->second;
    values[node] = has_bodies(*node) ? run_control_flow(*node, inputs) : operator_results(*node, attrs, inputs);
  }
  std::vector<NDArray> results;
  for (const NDArray& head : heads) results.push_back(take(head));
  return results;
}

}  // namespace headrace
