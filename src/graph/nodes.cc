#include "graph/nodes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace headrace {

std::vector<Node*> topological_order(std::span<const NDArray> heads) {
  struct Visit {
    Node* node;
    size_t next_input;
  };
  std::vector<Node*> order;
  std::unordered_set<Node*> seen;
  std::vector<Visit> stack;
  for (const NDArray& head : heads) {
    if (!head.node() || !seen.insert(head.node().get()).second) continue;
    stack.push_back({head.node().get(), 0});
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next_input == top.node->inputs.size()) {
        order.push_back(top.node);
        stack.pop_back();
        continue;
      }
      Node* input = top.node->inputs[top.next_input++].node().get();
      if (input && seen.insert(input).second) stack.push_back({input, 0});
    }
  }
  return order;
}

namespace {

bool is_layer(const Node& node) {
  return node.op->control_flow == ControlFlow::kLayer && node.label && node.label->subgraphs.size() == 1;
}

}  // namespace

GraphInputs inputs_of(std::span<const NDArray> heads) {
  GraphInputs inputs;
  std::unordered_map<Node*, size_t> index;
  for (Node* node : topological_order(heads)) {
    if (is_variable(*node)) {
      index.emplace(node, inputs.all.size());
      inputs.all.push_back(node);
      inputs.is_auxiliary.push_back(false);
    } else if (node->op && (node->op->mutates != kNothing || node->op->open || is_layer(*node))) {
      for (size_t i = 0; i < node->inputs.size(); ++i)
        if (mutates_input(*node, i) && node->inputs[i].node())
          if (auto found = index.find(node->inputs[i].node().get()); found != index.end())
            inputs.is_auxiliary[found->second] = true;
    }
  }
  return inputs;
}

NDArray output_of(Node* node, uint32_t index) {
  NDArray output;
  output.set_node(NodePtr(node), index);
  return output;
}

std::vector<NDArray> all_outputs(const NodePtr& node) {
  std::vector<NDArray> outputs;
  for (uint32_t k = 0; k < output_count(*node); ++k) outputs.push_back(output_of(node.get(), k));
  return outputs;
}

bool mutates_input(const Node& node, size_t i) {
  if (!node.op) return false;
  if (is_layer(node)) {
    const std::vector<bool> states = inputs_of(node.label->subgraphs[0]).is_auxiliary;
    return i < states.size() && states[i];
  }
  return node.op->open ? node.op->open.is_state(*node.attrs, i) : node.op->mutates_input(i);
}

size_t output_count(const Node& node) { return node.op ? output_count(*node.op, *node.attrs) : 1; }

size_t visible_output_count(const Node& node) {
  if (!node.op || !node.op->visible_outputs) return output_count(node);
  return std::min(node.op->visible_outputs, output_count(node));
}

bool draws_numbers(std::span<const NDArray> heads) {
  const auto draws = [](const Node* node) {
    if (node->op && node->op->is_random) return true;
    return node->label && std::ranges::any_of(node->label->subgraphs,
                                              [](const std::vector<NDArray>& body) { return draws_numbers(body); });
  };
  return std::ranges::any_of(topological_order(heads), draws);
}

}  // namespace headrace
