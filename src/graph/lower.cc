#include "graph/lower.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "graph/nodes.h"
#include "op/call_body.h"
#include "op/pointwise.h"
#include "op/rule.h"
#include "op/trace.h"

namespace headrace {
namespace {

class Lowering {
 public:
  Lowered run(std::span<const NDArray> inputs, std::span<const NDArray> outputs) {
    for (const NDArray& input : inputs) {
      const int id = add_value(Value::Source::kInput, input.view());
      ids_[{input.node().get(), input.output_index()}] = id;
      graph_.inputs.push_back(id);
    }
    emit_nodes(outputs);
    std::vector<int> taken;  // roots that are outputs already
    for (const NDArray& output : outputs) graph_.outputs.push_back(output ? own_output(id_of(output), taken) : -1);
    return std::move(graph_);
  }

 private:
  using Key = std::pair<const Node*, uint32_t>;

  int add_value(Value::Source source, const ViewPtr& type) {
    const int id = static_cast<int>(graph_.values.size());
    graph_.values.push_back({source, type, {}, id});
    return id;
  }

  int id_of(const NDArray& array) {
    if (auto found = ids_.find({array.node().get(), array.output_index()}); array.node() && found != ids_.end())
      return found->second;
    check(!is_abstract(array), ErrorKind::kRuntime,
          "a traced graph reads an array that is no input of it; arrays of another trace cannot be used here");
    if (auto found = constants_.find(array.view().get()); found != constants_.end()) return found->second;
    const int id = add_value(Value::Source::kConstant, array.view());
    graph_.values.back().constant = array.off_tape();
    constants_[array.view().get()] = id;
    return id;
  }

  void emit_nodes(std::span<const NDArray> heads) {
    std::vector<Node*> order = topological_order(heads);
    std::sort(order.begin(), order.end(), [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
    for (const Node* node : order)
      if (node->op && !ids_.contains({node, 0})) emit(*node);
  }

  void emit(const Node& node) {
    if (node.op->compose) return open(node);
    if (is_identity(node)) {
      ids_[{&node, 0}] = id_of(node.inputs[0]);
      kept_.push_back(NodePtr(const_cast<Node*>(&node)));
      return;
    }
    Step step{node.op, node.attrs};
    for (const NDArray& input : node.inputs) step.inputs.push_back(id_of(input));
    const int view_root = root_of_view(node, step);
    step.is_view = view_root >= 0;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const int id = add_value(Value::Source::kStep, node.outputs[i]);
      if (step.is_view) graph_.values.back().root = view_root;
      ids_[{&node, static_cast<uint32_t>(i)}] = id;
      step.outputs.push_back(id);
    }
    set_cost(node, step);
    graph_.steps.push_back(std::move(step));
    kept_.push_back(NodePtr(const_cast<Node*>(&node)));
  }

  // Values never change, so a copy is the value itself; but for inputs that are written to later.
  bool is_identity(const Node& node) {
    if (!node.op->pointwise || node.outputs.size() != 1) return false;
    const Expr& result = node.op->pointwise->formula.outputs[0];
    const Expr source = result.is_stop_gradient() ? result.argument(0) : result;
    if (source.kind() != Expr::Kind::kInput || source.index() != 0 || node.inputs.size() != 1) return false;
    const View &in = *node.inputs[0].view(), &out = *node.outputs[0];
    // Views of the copy count from where it begins.
    if (in.dtype() != out.dtype() || in.strides() != out.strides() || in.offset() != out.offset()) return false;
    return graph_.values[static_cast<size_t>(id_of(node.inputs[0]))].source == Value::Source::kStep;
  }

  // The operators that a composition is made of, on variables that stand for its inputs.
  void open(const Node& node) {
    std::vector<NDArray> stand_ins;
    for (const NDArray& input : node.inputs) {
      const int id = id_of(input);
      stand_ins.push_back(abstract_variable(input.shape(), input.dtype(), input.strides(), input.view()->offset()));
      ids_[{stand_ins.back().node().get(), 0}] = id;
      kept_.push_back(stand_ins.back().node());
    }
    const std::vector<NDArray> results = node.op->compose(stand_ins, *node.attrs);
    emit_nodes(results);
    for (size_t i = 0; i < node.outputs.size(); ++i) ids_[{&node, static_cast<uint32_t>(i)}] = id_of(results[i]);
    kept_.push_back(NodePtr(const_cast<Node*>(&node)));
  }

  int root_of_view(const Node& node, const Step& step) const {
    if (!node.op->as_view) return -1;
    const View& view = *node.inputs[0].view();
    Geometry in{view.shape(), view.strides(), view.offset()}, out;
    if (!node.op->as_view(in, out, *node.attrs)) return -1;
    return graph_.values[static_cast<size_t>(step.inputs[0])].root;
  }

  static void set_cost(const Node& node, Step& step) {
    if (step.is_view) return;
    if (node.op->pointwise) {
      const PointwiseResult result = pointwise_result(*node.op, *node.attrs, node.inputs);
      step.ticket = static_cast<uint64_t>(result.types.compute);
      step.cost_ns = cost_ns(node.op->pointwise->program(result.types.compute), element_count(result.shape));
      return;
    }
    Infer infer(*node.op, node.inputs, true);
    node.op->infer(infer, *node.attrs);
    step.ticket = infer.ticket();
    step.cost_ns = infer.cost();
    step.flops = infer.flops();
    if (step.cost_ns >= 0) return;
    SmallVector<View*, 8> views;
    for (const NDArray& input : node.inputs) views.push_back(input.view().get());
    for (const ViewPtr& output : node.outputs) views.push_back(output.get());
    step.cost_ns = streaming_cost_ns({views.data(), views.size()});
  }

  // An output must have memory of its own, which nothing else looks at.
  int own_output(int id, std::vector<int>& taken) {
    const Value& value = graph_.values[static_cast<size_t>(id)];
    const bool owns = value.source == Value::Source::kStep && value.root == id &&
                      std::find(taken.begin(), taken.end(), id) == taken.end();
    if (!owns) {
      static const OpDef& copy = find_op("_copy");
      const ViewPtr type = value.type;
      NDArray source(type);
      const PointwiseResult result = pointwise_result(copy, *copy.default_attrs, {&source, 1});
      Step step{&copy, copy.default_attrs};
      step.inputs.push_back(id);
      step.ticket = static_cast<uint64_t>(result.types.compute);
      step.cost_ns = cost_ns(copy.pointwise->program(result.types.compute), type->size());
      id = add_value(Value::Source::kStep, ViewPtr(new View(nullptr, type->dtype(), result.shape, result.strides, 0)));
      step.outputs.push_back(id);
      graph_.steps.push_back(std::move(step));
    }
    taken.push_back(id);
    return id;
  }

  Lowered graph_;
  std::map<Key, int> ids_;
  std::map<const View*, int> constants_;
  std::vector<NodePtr> kept_;  // while their addresses are keys
};

}  // namespace

std::vector<int> Lowered::changed_by(const Step& step) const {
  std::vector<int> roots;
  if (step.op->mutates == kNothing) return roots;
  for (size_t i = 0; i < step.inputs.size(); ++i)
    if (step.op->mutates_input(i)) roots.push_back(values[static_cast<size_t>(step.inputs[i])].root);
  return roots;
}

Lowered lower(std::span<const NDArray> inputs, std::span<const NDArray> outputs) {
  return Lowering().run(inputs, outputs);
}

std::string to_text(const Lowered& graph) {
  std::string text;
  const auto names = [](const SmallVector<int, 6>& ids) {
    std::string list;
    for (int id : ids) list += (list.empty() ? "%" : ", %") + std::to_string(id);
    return list;
  };
  const auto type_text = [&](int id) {
    const View& type = *graph.values[static_cast<size_t>(id)].type;
    return fmt::format("{} {}{}", dtype_name(type.dtype()), to_string(type.shape()),
                       is_contiguous(type.shape(), type.strides())      ? ""
                       : is_channels_last(type.shape(), type.strides()) ? " channels-last"
                                                                        : " strided");
  };
  for (int id : graph.inputs) text += fmt::format("%{} = input : {}\n", id, type_text(id));
  std::vector<uint8_t> is_read(graph.values.size());
  for (const Step& step : graph.steps)
    for (int id : step.inputs) is_read[static_cast<size_t>(id)] = true;
  for (size_t id = 0; id < graph.values.size(); ++id)
    if (is_read[id] && graph.values[id].source == Value::Source::kConstant)
      text += fmt::format("%{} = constant : {}\n", id, type_text(static_cast<int>(id)));
  for (const Step& step : graph.steps) {
    std::string attrs;
    const IntrusivePtr<Attrs> defaults = step.op->make_attrs();
    for (const FieldInfo& field : step.op->schema->fields)
      if (AttrValue value = field.get(step.attrs->data()); value != field.get(defaults->data()))
        attrs +=
            fmt::format("{}{}={}", attrs.empty() && step.inputs.empty() ? "" : ", ", field.name, attr_to_text(value));
    text += fmt::format("{} = {}{}({}{}) : {}\n", names(step.outputs), step.is_view ? "view " : "", step.op->name,
                        names(step.inputs), attrs, step.outputs.empty() ? "" : type_text(step.outputs[0]));
  }
  std::string outputs;
  for (int id : graph.outputs) outputs += id < 0 ? " none" : fmt::format(" %{}", id);
  return text + "return" + outputs + "\n";
}

}  // namespace headrace
