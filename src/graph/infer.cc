#include "graph/infer.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "graph/control_flow.h"
#include "graph/evaluate.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "op/pointwise.h"
#include "op/trace.h"
#include "ops/control/control_flow.h"

namespace headrace {

bool InferredTypes::Type::is_known() const noexcept {
  return shape && dtype && std::find(shape->begin(), shape->end(), -1) == shape->end();
}

namespace {

using Type = InferredTypes::Type;

// A variable says its own shape as "(3, 0)", 0 and -1 being unknown, and its dtype as MXNet's number.
Type declared_type(const NodeLabel& label) {
  Type type;
  if (auto text = label.attrs.find("__shape__"); text != label.attrs.end()) {
    type.shape = shape_from_text(text->second);
    if (type.shape && type.shape->empty()) type.shape.reset();
    if (type.shape)
      for (int64_t& extent : *type.shape)
        if (extent <= 0) extent = -1;
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
    for (const Node* node : order_)
      if (is_variable(*node)) types_[node] = {type_of_variable(*node, known)};
  }

  InferredTypes run() {
    // Facts flow from inputs to users, and from users to the variables beside; repeated until nothing new comes.
    for (bool changed = true; changed;) {
      changed = false;
      for (Node* node : order_)
        if (node->op && !types_.contains(node)) changed |= visit(*node);
    }
    InferredTypes result;
    for (const Node* node : inputs_of(heads_).all) result.inputs.push_back(types_[node][0]);
    for (const NDArray& head : heads_) result.outputs.push_back(type_of(head));
    return result;
  }

 private:
  static Type type_of_variable(const Node& node, const KnownTypes& known) {
    Type type = declared_type(*node.label);
    if (auto found = known.shapes.find(node.label->name); found != known.shapes.end()) {
      std::optional<Shape> one = type.shape;
      Completion(node.label->name.c_str(), {&one, 1}).set(0, found->second);
      type.shape = one;
    }
    if (auto found = known.dtypes.find(node.label->name); found != known.dtypes.end()) type.dtype = found->second;
    return type;
  }

  Type type_of(const NDArray& entry) {
    if (!entry.node()) return {entry.shape(), entry.dtype()};
    auto found = types_.find(entry.node().get());
    if (found == types_.end()) return {};
    check(entry.output_index() < found->second.size(), ErrorKind::kRuntime,
          "{} has {} outputs; output {} was asked for", entry.node()->label->name, found->second.size(),
          entry.output_index());
    return found->second[entry.output_index()];
  }

  static bool is_input(const NDArray& entry) { return entry.node() && is_variable(*entry.node()); }

  // Whether something new became known.
  bool visit(Node& node) {
    std::vector<Type> inputs;
    for (const NDArray& input : node.inputs) inputs.push_back(type_of(input));
    const std::vector<Type> before = inputs;
    bool changed = complete_shapes(node, inputs);
    if (!node.label->subgraphs.empty()) complete_from_body(node, inputs);
    complete_dtypes(node, inputs);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (is_input(node.inputs[i])) {
        changed |= before[i].shape != inputs[i].shape;
        types_[node.inputs[i].node().get()] = {inputs[i]};
      }
    if (!std::all_of(inputs.begin(), inputs.end(), [](const Type& t) { return t.is_known(); })) return changed;
    std::vector<NDArray> arrays;
    for (const Type& type : inputs) arrays.push_back(abstract_variable(*type.shape, *type.dtype));
    std::vector<NDArray> results =
        node.label->subgraphs.empty() ? invoke_all(*node.op, node.attrs, arrays) : run_control_flow(node, arrays);
    for (const NDArray& result : results) types_[&node].push_back({result.shape(), result.dtype()});
    return true;
  }

  // Shapes of parameters that a loop's body reads follow from the entries that it loops over.
  static void complete_from_body(const Node& node, std::vector<Type>& inputs) {
    const std::vector<ptrdiff_t> readers = places_in_body(node, inputs.size());
    if (readers.empty()) return;
    const Symbol body(node.label->subgraphs[0]);
    const std::vector<std::string> names = body.list_inputs();
    const size_t data_count = node.attrs->as<ForeachAttrs>().in_data_locs.size();
    KnownTypes known;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string& name = names.at(static_cast<size_t>(readers[i]));
      if (inputs[i].dtype) known.dtypes[name] = *inputs[i].dtype;
      if (!inputs[i].shape || (i < data_count && inputs[i].shape->empty())) continue;
      known.shapes[name] =
          i < data_count ? Shape(inputs[i].shape->begin() + 1, inputs[i].shape->end()) : *inputs[i].shape;
    }
    const InferredTypes types = Inference(body, known).run();
    for (size_t i = data_count; i < inputs.size(); ++i)
      if (is_input(node.inputs[i])) inputs[i] = types.inputs.at(static_cast<size_t>(readers[i]));
  }

  // Which input of a foreach's body each input of the node is; empty where that cannot be told.
  static std::vector<ptrdiff_t> places_in_body(const Node& node, size_t count) {
    if (node.op->name != "_foreach") return {};
    const auto& a = node.attrs->as<ForeachAttrs>();
    std::vector<ptrdiff_t> places;
    for (const Shape* part : {&a.in_data_locs, &a.in_state_locs, &a.remain_locs})
      places.insert(places.end(), part->begin(), part->end());
    const size_t limit = inputs_of(node.label->subgraphs[0]).all.size();
    const bool fits = places.size() == count && std::all_of(places.begin(), places.end(), [&](ptrdiff_t place) {
                        return place >= 0 && static_cast<size_t>(place) < limit;
                      });
    return fits ? places : std::vector<ptrdiff_t>();
  }

  static bool complete_shapes(const Node& node, std::vector<Type>& inputs) {
    std::vector<std::optional<Shape>> shapes;
    for (const Type& input : inputs) shapes.push_back(input.shape);
    Completion completion(node.label->name.c_str(), shapes);
    if (node.op->complete) {
      node.op->complete(completion, *node.attrs);
    } else if (node.op->pointwise && node.op->pointwise->equal_shapes) {
      for (size_t i = 0; i < inputs.size(); ++i)
        if (completion.is_known(i))
          for (size_t k = 0; k < inputs.size(); ++k)
            if (!completion.is_known(k)) completion.set(k, *shapes[i]);
    }
    bool changed = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!is_input(node.inputs[i])) continue;
      changed |= shapes[i] != inputs[i].shape;
      inputs[i].shape = shapes[i];
    }
    return changed;
  }

  // Parameters hold what the data hold; statistics and what goes with them, and parameters of integers, float32.
  static void complete_dtypes(const Node& node, std::vector<Type>& inputs) {
    const auto known = std::find_if(inputs.begin(), inputs.end(), [](const Type& t) { return t.dtype; });
    DType dtype = known == inputs.end() ? DType::kFloat32 : *known->dtype;
    const bool keeps_float32 = node.op->mutates != kNothing && dtype != DType::kFloat64;
    const bool first_known = known == inputs.begin();
    if (!is_floating(dtype) || (keeps_float32 && first_known)) dtype = DType::kFloat32;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i].dtype && is_input(node.inputs[i])) inputs[i].dtype = dtype;
  }

  std::vector<NDArray> heads_;
  std::vector<Node*> order_;
  std::unordered_map<const Node*, std::vector<Type>> types_;
};

}  // namespace

InferredTypes infer_types(const Symbol& symbol, const KnownTypes& known) {
  TraceScope scope(thread_state().training);
  return Inference(symbol, known).run();
}

}  // namespace headrace
