#include "graph/evaluate.h"

#include "graph/control_flow.h"
#include "graph/nodes.h"

namespace headrace {

std::vector<NDArray> evaluate(std::span<const NDArray> heads, const Bindings& variables) {
  const std::vector<Node*> order = topological_order(heads);
  std::unordered_map<const Node*, size_t> uses;  // readers still to come, so that values go when the last one had them
  for (const Node* node : order)
    for (const NDArray& input : node->inputs)
      if (input.node()) ++uses[input.node().get()];
  for (const NDArray& head : heads) ++uses[head.node().get()];

  std::unordered_map<const Node*, std::vector<NDArray>> values;
  const auto take = [&](const NDArray& entry) {
    if (!entry.node()) return entry;  // a constant
    const std::vector<NDArray>& known = values.at(entry.node().get());
    check(entry.output_index() < known.size(), ErrorKind::kRuntime, "{} has {} outputs; output {} was asked for",
          entry.node()->label->name, known.size(), entry.output_index());
    NDArray value = known[entry.output_index()];
    if (--uses[entry.node().get()] == 0) values.erase(entry.node().get());
    return value;
  };
  for (Node* node : order) {
    if (is_variable(*node)) {
      auto found = variables.find(node);
      check(found != variables.end() && found->second, ErrorKind::kRuntime, "variable {} of the graph has no value",
            node->label->name);
      values[node] = {found->second};
      continue;
    }
    std::vector<NDArray> inputs;
    for (const NDArray& input : node->inputs) inputs.push_back(take(input));
    values[node] =
        node->label->subgraphs.empty() ? invoke_all(*node->op, node->attrs, inputs) : run_control_flow(*node, inputs);
  }
  std::vector<NDArray> results;
  for (const NDArray& head : heads) results.push_back(take(head));
  return results;
}

}  // namespace headrace
