#include "graph/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "graph/infer_node.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "op/trace.h"

namespace headrace {

bool InferredTypes::Type::is_known() const noexcept {
  return shape && dtype && std::find(shape->begin(), shape->end(), -1) == shape->end();
}

namespace {

using Type = InferredTypes::Type;

// A variable says its own shape as "(3, 0)", 0 and -1 being unknown, and its dtype as MXNet's number.
Type declared_type(const NodeLabel& label, bool zeros_are_known) {
  Type type;
  if (auto text = label.attrs.find("__shape__"); text != label.attrs.end()) {
    type.shape = shape_from_text(text->second);
    if (type.shape && type.shape->empty() && !zeros_are_known) type.shape.reset();
    if (type.shape)
      for (int64_t& extent : *type.shape)
        if (extent < (zeros_are_known ? 0 : 1)) extent = -1;
  }
  if (auto text = label.attrs.find("__dtype__"); text != label.attrs.end()) {
    int flag = -1;
    std::from_chars(text->second.data(), text->second.data() + text->second.size(), flag);
    if (flag >= 0 && flag < kDTypeCount) type.dtype = static_cast<DType>(flag);
  }
  return type;
}

class Inference {
 public:
  Inference(const Symbol& symbol, const KnownTypes& known)
      : heads_(symbol.outputs()), order_(topological_order(heads_)) {
    for (const Node* node : order_) {
      if (is_variable(*node))
        types_[node].push_back(type_of_variable(*node, known));
      else
        types_[node].resize(output_count(*node));
    }
  }

  // Facts flow from inputs to users and back, until nothing new comes.
  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Node* node : order_) changed |= visit(*node);
      if (!changed) break;
      for (auto node = order_.rbegin(); node != order_.rend(); ++node) changed |= visit(**node);
    }
  }

  InferredTypes result() {
    InferredTypes result;
    for (const Node* node : inputs_of(heads_).all) result.inputs.push_back(types_[node][0]);
    for (const NDArray& head : heads_) result.outputs.push_back(type_of(head));
    return result;
  }

  DeclaredShapes declared_shapes() {
    DeclaredShapes found;
    for (Node* node : order_) {
      const std::optional<Shape> declared = declared_shape(*node);
      const Type& type = types_[node][0];
      if (declared && type.is_known() && *declared != *type.shape)
        found.emplace(node, with_declared_shape(*node, *type.shape));
    }
    return found;
  }

 private:
  // What is given goes before what the variable says.
  static Type type_of_variable(const Node& node, const KnownTypes& known) {
    Type type = declared_type(*node.label, known.zeros_are_known);
    if (auto found = known.shapes.find(node.label->name); found != known.shapes.end()) {
      check(std::ranges::all_of(found->second, [](int64_t extent) { return extent >= -1; }), ErrorKind::kValue,
            "infer_shape: {} cannot have shape {}; extents are numbers from 0, or -1 where they are not known",
            node.label->name, to_string(found->second));
      const std::optional<Shape> declared = std::exchange(type.shape, found->second);
      if (declared && declared->size() == type.shape->size())
        for (size_t axis = 0; axis < declared->size(); ++axis)
          if ((*type.shape)[axis] == -1) (*type.shape)[axis] = (*declared)[axis];
    }
    if (auto found = known.dtypes.find(node.label->name); found != known.dtypes.end()) type.dtype = found->second;
    return type;
  }

  Type type_of(const NDArray& entry) {
    if (!entry.node()) return {entry.shape(), entry.dtype()};
    const std::vector<Type>& types = types_.at(entry.node().get());
    check(entry.output_index() < types.size(), ErrorKind::kRuntime, "{} has {} outputs; output {} was asked for",
          entry.node()->label->name, types.size(), entry.output_index());
    return types[entry.output_index()];
  }

  // Whether something new became known.
  bool visit(Node& node) {
    if (!node.op || settled_.contains(&node)) return false;
    NodeTypes types{{}, types_[&node]};
    for (const NDArray& input : node.inputs) types.inputs.push_back(type_of(input));
    const NodeTypes before = types;
    infer_node(node, types);
    if (types.is_known()) settled_.insert(&node);
    if (types == before) return false;
    // Of an array that is several inputs what one of them has learnt must not give way to what another has not.
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].node() && types.inputs[i] != before.inputs[i])
        types_[node.inputs[i].node().get()][node.inputs[i].output_index()] = types.inputs[i];
    types_[&node] = std::move(types.outputs);
    return true;
  }

  std::vector<NDArray> heads_;
  std::vector<Node*> order_;
  std::unordered_map<const Node*, std::vector<Type>> types_;
  std::unordered_set<const Node*> settled_;  // all is known, and the operator accepted it
};

}  // namespace

InferredTypes infer_types(const Symbol& symbol, const KnownTypes& known) {
  TraceScope scope(thread_state().training);
  Inference inference(symbol, known);
  inference.run();
  return inference.result();
}

std::optional<InferredShapes> Symbol::infer_shape(const std::map<std::string, Shape>& known) const {
  const std::vector<std::string> inputs = list_inputs(), auxiliary = list_auxiliary_states();
  for (const auto& [name, shape] : known)
    check(std::ranges::count(inputs, name) > 0, ErrorKind::kValue,
          "infer_shape: the graph has no input '{}'; it has {}", name, fmt::join(inputs, ", "));
  const InferredTypes types = infer_types(*this, {.shapes = known});
  const auto is_known = [](const InferredTypes::Type& type) {
    return type.shape && std::ranges::count(*type.shape, -1) == 0;
  };
  if (!std::ranges::all_of(types.inputs, is_known) || !std::ranges::all_of(types.outputs, is_known)) return {};
  InferredShapes found;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_auxiliary = std::ranges::count(auxiliary, inputs[i]) > 0;
    (is_auxiliary ? found.auxiliary_states : found.arguments).push_back(*types.inputs[i].shape);
  }
  for (const InferredTypes::Type& type : types.outputs) found.outputs.push_back(*type.shape);
  return found;
}

DeclaredShapes close_shapes(std::span<const NDArray> heads, const std::unordered_map<const Node*, NDArray>& variables) {
  const auto is_open = [](const Node* node) {
    if (!node->label) return false;  // traced from arrays: all shapes are known
    const std::optional<Shape> declared = declared_shape(*node);
    return declared && std::ranges::count(*declared, -1) > 0;
  };
  if (std::ranges::none_of(topological_order(heads), is_open)) return {};
  KnownTypes known;
  for (const auto& [node, value] : variables) {
    known.shapes.emplace(node->label->name, value.shape());
    known.dtypes.emplace(node->label->name, value.dtype());
  }
  TraceScope scope(thread_state().training);
  Inference inference(Symbol({heads.begin(), heads.end()}), known);
  inference.run();
  return inference.declared_shapes();
}

}  // namespace headrace
