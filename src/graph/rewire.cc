#include "graph/rewire.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "graph/labels.h"
#include "graph/nodes.h"

namespace headrace {

NodePtr with_inputs(const Node& node, std::vector<NDArray> inputs) {
  NodePtr copy(new Node);
  copy->op = node.op;
  copy->attrs = node.attrs;
  copy->inputs = std::move(inputs);
  copy->label = std::make_unique<NodeLabel>();
  copy->label->name = node.label->name;
  copy->label->attrs = node.label->attrs;
  copy->label->subgraphs = node.label->subgraphs;
  return copy;
}

NodePtr named_node(std::string_view op, std::string name, std::vector<NDArray> inputs, Symbol::Texts texts) {
  NodePtr node(new Node);
  node->op = &find_op(op);
  node->inputs = std::move(inputs);
  node->label = std::make_unique<NodeLabel>();
  node->label->name = std::move(name);
  node->label->attrs = std::move(texts);
  node->attrs = parse_attrs(*node->op, node->label->attrs);
  return node;
}

std::vector<NDArray> rewired(std::span<const NDArray> heads, Replacement replacement, const Node* renamed,
                             const std::string& name) {
  std::unordered_map<const Node*, std::vector<NDArray>> replaced;
  std::unordered_map<const Node*, NodePtr> copies;
  const auto mapped = [&](const NDArray& entry) {
    const Node* node = entry.node().get();
    if (auto found = replaced.find(node); found != replaced.end()) {
      const std::vector<NDArray>& outputs = found->second;
      check(entry.output_index() < outputs.size(), ErrorKind::kRuntime, "{} has {} outputs; output {} was asked for",
            node->label ? node->label->name : "the node", outputs.size(), entry.output_index());
      return outputs[entry.output_index()];
    }
    if (auto found = copies.find(node); found != copies.end())
      return output_of(found->second.get(), entry.output_index());
    return entry;
  };
  for (Node* node : topological_order(heads)) {
    std::vector<NDArray> inputs;
    for (const NDArray& input : node->inputs) inputs.push_back(mapped(input));
    if (std::vector<NDArray> other = replacement(*node, inputs); !other.empty()) {
      replaced.emplace(node, std::move(other));
      continue;
    }
    if (node != renamed && std::none_of(node->inputs.begin(), node->inputs.end(), [&](const NDArray& input) {
          return replaced.contains(input.node().get()) || copies.contains(input.node().get());
        }))
      continue;
    NodePtr copy = with_inputs(*node, std::move(inputs));
    if (node == renamed) copy->label->name = name;
    copies.emplace(node, std::move(copy));
  }
  std::vector<NDArray> outputs;
  for (const NDArray& head : heads) outputs.push_back(mapped(head));
  return outputs;
}

}  // namespace headrace
