#include "graph/tape_symbol.h"

#include <unordered_map>

#include "base/check.h"
#include "graph/cached_op.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/rewire.h"

namespace headrace {
namespace {

class TapeReader {
 public:
  // The place in the symbol of a place on the tape, or of an array that is on none.
  NDArray place_of(const NDArray& array) {
    if (array.node()) return places_.at(array.node().get()).at(array.output_index());
    NodePtr& variable = arrays_[array.view().get()];
    if (!variable) variable = variable_node("null", null_count_++);
    return output_of(variable.get(), 0);
  }

  void add(Node& node) {
    check(!node.is_freed(), ErrorKind::kRuntime,
          "get_symbol: backward has used up what was recorded; give it retain_graph=True");
    if (node.is_leaf) {
      places_.emplace(&node, std::vector{output_of(variable_node("var", leaf_count_++).get(), 0)});
    } else if (const Symbol* const symbol = CachedOp::symbol_of_call(node)) {
      places_.emplace(&node, opened(node, *symbol));
    } else {
      places_.emplace(&node, outputs_of(copied(node)));
    }
  }

 private:
  NodePtr copied(const Node& node) {
    check(node.op != nullptr, ErrorKind::kRuntime,
          "get_symbol: a part of what was recorded is no operator but an autograd.Function, which is code; compute it "
          "with operators");
    NodePtr copy(new Node);
    copy->op = node.op;
    copy->attrs = node.attrs;
    copy->label = std::make_unique<NodeLabel>();
    copy->label->name = fmt::format("node_{}", operation_count_++);
    copy->label->attrs = texts_of_attrs(node);
    for (const NDArray& input : node.inputs) copy->inputs.push_back(place_of(input));
    spell(*copy);
    return copy;
  }

  // The outputs of a hybridized block's call. What of its inputs is on no tape is kept by type alone.
  std::vector<NDArray> opened(const Node& node, const Symbol& symbol) {
    std::unordered_map<const Node*, NDArray> given;
    const std::vector<Node*> variables = inputs_of(symbol.outputs()).all;
    for (size_t i = 0; i < variables.size(); ++i) {
      const NDArray& input = node.inputs[i];
      given.emplace(variables[i],
                    input.node() ? place_of(input) : output_of(variable_node("null", null_count_++).get(), 0));
    }
    return rewired(symbol.outputs(), [&](const Node& part, std::span<const NDArray>) -> std::vector<NDArray> {
      const auto found = given.find(&part);
      return found == given.end() ? std::vector<NDArray>() : std::vector{found->second};
    });
  }

  static std::vector<NDArray> outputs_of(const NodePtr& node) {
    std::vector<NDArray> outputs;
    for (uint32_t k = 0; k < output_count(*node->op, *node->attrs); ++k) outputs.push_back(output_of(node.get(), k));
    return outputs;
  }

  static NodePtr variable_node(const char* prefix, size_t number) {
    return Symbol::variable(fmt::format("{}{}", prefix, number)).outputs()[0].node();
  }

  std::unordered_map<const Node*, std::vector<NDArray>> places_;  // of the outputs of nodes of the tape
  std::unordered_map<const View*, NodePtr> arrays_;
  size_t leaf_count_ = 0, null_count_ = 0, operation_count_ = 0;
};

}  // namespace

Symbol symbol_of_tape(const NDArray& head) {
  check(static_cast<bool>(head.node()), ErrorKind::kRuntime,
        "get_symbol: the array is not in a computational graph; compute it under autograd.record() from arrays with "
        "attach_grad()");
  TapeReader reader;
  for (Node* node : topological_order({&head, 1})) reader.add(*node);
  return Symbol({reader.place_of(head)});
}

}  // namespace headrace
