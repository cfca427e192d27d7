#include "graph/tape_symbol.h"

#include <unordered_map>

#include "base/check.h"
#include "graph/labels.h"
#include "graph/nodes.h"

namespace headrace {
namespace {

class TapeReader {
 public:
  // The place in the symbol of a place on the tape, or of an array that is on none.
  NDArray place_of(const NDArray& array) {
    if (array.node()) return output_of(nodes_.at(array.node().get()).get(), array.output_index());
    NodePtr& variable = arrays_[array.view().get()];
    if (!variable) variable = variable_node("null", null_count_++);
    return output_of(variable.get(), 0);
  }

  void add(Node& node) {
    check(!node.is_freed, ErrorKind::kRuntime,
          "get_symbol: backward has used up what was recorded; give it retain_graph=True");
    if (node.is_leaf) {
      nodes_.emplace(&node, variable_node("var", leaf_count_++));
      return;
    }
    check(node.op != nullptr, ErrorKind::kRuntime,
          "get_symbol: a part of what was recorded is no operator but a hybridized block or an autograd.Function; do "
          "not hybridize the block, or export() it");
    NodePtr copy(new Node);
    copy->op = node.op;
    copy->attrs = node.attrs;
    copy->label = std::make_unique<NodeLabel>();
    copy->label->name = fmt::format("node_{}", operation_count_++);
    copy->label->attrs = texts_of_attrs(node);
    for (const NDArray& input : node.inputs) copy->inputs.push_back(place_of(input));
    spell(*copy);
    nodes_.emplace(&node, std::move(copy));
  }

 private:
  static NodePtr variable_node(const char* prefix, size_t number) {
    return Symbol::variable(fmt::format("{}{}", prefix, number)).outputs()[0].node();
  }

  std::unordered_map<const Node*, NodePtr> nodes_;
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
