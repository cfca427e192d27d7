#include "graph/control_flow.h"

#include <array>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "graph/evaluate.h"
#include "graph/infer_node.h"
#include "graph/joined_layers.h"
#include "graph/nodes.h"
#include "graph/signature.h"
#include "op/invoke.h"
#include "ops/control/control_flow.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;

}  // namespace

Shape entry_shape(const Shape& data) { return data.size() == 1 ? Shape{1} : Shape(data.begin() + 1, data.end()); }

namespace {

// Calls a subgraph: its variables, in the order in which the body reads them, get `values`.
class Body {
 public:
  Body(const Node& node, size_t graph) : heads_(node.label->subgraphs[graph]), variables_(inputs_of(heads_).all) {}
  // What a call with these values would give.
  std::vector<InferredTypes::Type> result_types(const Arrays& values) const {
    KnownTypes known;
    for (size_t i = 0; i < variables_.size(); ++i) {
      known.shapes.emplace(variables_[i]->label->name, values[i].shape());
      known.dtypes.emplace(variables_[i]->label->name, values[i].dtype());
    }
    return infer_types(Symbol(heads_), known).outputs;
  }
  Arrays operator()(const Arrays& values) const {
    Bindings bindings;
    for (size_t i = 0; i < variables_.size(); ++i) bindings.emplace(variables_[i], values[i]);
    return evaluate(heads_, bindings);
  }

 private:
  const Arrays& heads_;
  std::vector<Node*> variables_;
};

NDArray slice_of(const NDArray& data, int64_t i) {
  NDArray row = call("slice_axis", {data}, {{"axis", int64_t{0}}, {"begin", i}, {"end", i + 1}});
  return call("_reshape_to", {row}, {{"shape", entry_shape(data.shape())}});
}

NDArray stacked(const Arrays& rows) {
  static const OpDef& stack = find_op("stack");
  return invoke_all(stack, attrs_of(stack, {{"axis", int64_t{0}}, {"num_args", static_cast<int64_t>(rows.size())}}),
                    rows)[0];
}

size_t place(const Node& node, int64_t location, size_t limit) {
  check(location >= 0 && static_cast<size_t>(location) < limit, ErrorKind::kRuntime,
        "{}: location {} lies outside the {} inputs", node.label->name, location, limit);
  return static_cast<size_t>(location);
}

Arrays run_foreach(const Node& node, std::span<const NDArray> inputs) {
  const auto& a = node.attrs->as<ForeachAttrs>();
  const Body body(node, 0);
  const size_t data_count = a.in_data_locs.size(), state_count = a.in_state_locs.size();
  check(data_count > 0, ErrorKind::kRuntime, "{}: there is no data to loop over", node.label->name);
  const int64_t length = inputs[0].ndim() ? inputs[0].shape()[0] : 0;
  check(length > 0, ErrorKind::kValue, "{}: the data to loop over need at least one entry along axis 0, got shape {}",
        node.label->name, to_string(inputs[0].shape()));
  for (size_t k = 0; k < data_count; ++k)
    check(inputs[k].ndim() > 0 && inputs[k].shape()[0] == length, ErrorKind::kValue,
          "{}: data of equal length are needed, got {} and {}", node.label->name, length, to_string(inputs[k].shape()));
  Arrays values(inputs.size());
  for (size_t k = 0; k < a.remain_locs.size(); ++k)
    values[place(node, a.remain_locs[k], values.size())] = inputs[data_count + state_count + k];
  Arrays states(inputs.begin() + static_cast<ptrdiff_t>(data_count),
                inputs.begin() + static_cast<ptrdiff_t>(data_count + state_count));
  const size_t out_count = static_cast<size_t>(a.num_out_data);
  std::vector<Arrays> rows(out_count);
  for (int64_t i = 0; i < length; ++i) {
    for (size_t k = 0; k < data_count; ++k)
      values[place(node, a.in_data_locs[k], values.size())] = slice_of(inputs[k], i);
    for (size_t k = 0; k < state_count; ++k) values[place(node, a.in_state_locs[k], values.size())] = states[k];
    Arrays results = body(values);
    for (size_t k = 0; k < out_count; ++k) rows[k].push_back(results[k]);
    for (size_t k = 0; k < state_count; ++k) states[k] = results[out_count + k];
  }
  Arrays outputs;
  for (const Arrays& one : rows) outputs.push_back(stacked(one));
  outputs.insert(outputs.end(), states.begin(), states.end());
  return outputs;
}

Arrays chosen(const Node& node, const OptionalInts& locations, std::span<const NDArray> inputs) {
  Arrays values;
  for (const auto& location : locations) values.push_back(inputs[place(node, location.value_or(-1), inputs.size())]);
  return values;
}

bool is_true(const Arrays& condition) { return condition.at(0).item() != 0; }

Arrays run_cond(const Node& node, std::span<const NDArray> inputs) {
  const auto& a = node.attrs->as<CondAttrs>();
  const bool yes = is_true(Body(node, 0)(chosen(node, a.cond_input_locs, inputs)));
  return yes ? Body(node, 1)(chosen(node, a.then_input_locs, inputs))
             : Body(node, 2)(chosen(node, a.else_input_locs, inputs));
}

// The outputs of the steps, stacked; rows of steps that did not run are zero.
NDArray padded(const Arrays& rows, int64_t length) {
  const NDArray run = stacked(rows);
  const auto steps = static_cast<int64_t>(rows.size());
  if (steps == length) return run;
  Shape shape = run.shape();
  shape[0] = length - steps;
  static const OpDef& concat = find_op("Concat");
  const NDArray rest = full(shape, 0, run.dtype(), run.device());
  return invoke_all(concat, attrs_of(concat, {{"dim", int64_t{0}}}), std::array{run, rest})[0];
}

// The outputs of a loop that ran no step.
Arrays unstepped(const Node& node, const Body& step, const Arrays& values, size_t count, int64_t length) {
  const std::vector<InferredTypes::Type> types = step.result_types(values);
  Arrays outputs;
  for (size_t k = 0; k < count; ++k) {
    check(types.at(k).is_known(), ErrorKind::kValue,
          "{}: the loop ran no step, and the shape of its output {} depends on values", node.label->name, k);
    Shape shape = *types[k].shape;
    shape.insert(size_t{0}, length);
    outputs.push_back(full(shape, 0, *types[k].dtype, values.at(0).device()));
  }
  return outputs;
}

Arrays run_while(const Node& node, std::span<const NDArray> inputs) {
  const auto& a = node.attrs->as<WhileAttrs>();
  const Body condition(node, 0), step(node, 1);
  Arrays values(inputs.begin(), inputs.end());
  const size_t out_count = static_cast<size_t>(a.num_out_data);
  std::vector<Arrays> rows(out_count);
  for (int64_t i = 0; i < a.max_iterations; ++i) {
    if (!is_true(condition(chosen(node, a.cond_input_locs, values)))) break;
    Arrays results = step(chosen(node, a.func_input_locs, values));
    for (size_t k = 0; k < out_count; ++k) rows[k].push_back(results[k]);
    for (size_t k = 0; k < a.func_var_locs.size(); ++k) {
      const size_t variable = place(node, a.func_var_locs[k].value_or(-1), a.func_input_locs.size());
      values[place(node, a.func_input_locs[variable].value_or(-1), values.size())] = results[out_count + k];
    }
  }
  Arrays outputs;
  if (out_count > 0 && rows[0].empty())
    outputs = unstepped(node, step, chosen(node, a.func_input_locs, values), out_count, a.max_iterations);
  else
    for (const Arrays& one : rows) outputs.push_back(padded(one, a.max_iterations));
  for (const auto& variable : a.func_var_locs) {
    const size_t input = place(node, variable.value_or(-1), a.func_input_locs.size());
    outputs.push_back(values[place(node, a.func_input_locs[input].value_or(-1), values.size())]);
  }
  return outputs;
}

Arrays run_layer(const Node& node, std::span<const NDArray> inputs) {
  const OpenedLayer layer = opened_layer(node);
  Bindings bindings;
  for (size_t i = 0; i < inputs.size(); ++i) bindings.emplace(layer.variables[i].node().get(), inputs[i]);
  return evaluate(layer.results, bindings);
}

}  // namespace

std::vector<NDArray> run_control_flow(const Node& node, std::span<const NDArray> inputs) {
  check_bodies(node);
  switch (node.op->control_flow) {
    case ControlFlow::kForeach:
      return run_foreach(node, inputs);
    case ControlFlow::kWhile:
      return run_while(node, inputs);
    case ControlFlow::kLayer:
      return run_layer(node, inputs);
    default:
      return run_cond(node, inputs);
  }
}

CutBody cut_body(std::span<const NDArray> heads, const std::string& name) {
  CutBody cut;
  std::unordered_map<const Node*, NodePtr> copies;
  std::map<std::pair<const Node*, uint32_t>, NDArray> variables;
  const auto is_inside = [&](const Node& node) {
    auto scope = node.label->attrs.find("__subgraph_name__");
    return node.op && scope != node.label->attrs.end() && scope->second == name;
  };
  const auto mapped = [&](const NDArray& entry) {
    const Node* node = entry.node().get();
    if (auto copy = copies.find(node); copy != copies.end()) return output_of(copy->second.get(), entry.output_index());
    if (!node->op) return entry;
    const auto [place, is_new] = variables.try_emplace({node, entry.output_index()});
    NDArray& variable = place->second;
    if (is_new) {
      const std::string variable_name = output_name(*node, entry.output_index());
      variable = Symbol::variable(variable_name).outputs()[0];
      cut.taken.emplace_back(variable_name, entry);
    }
    return variable;
  };
  for (Node* node : topological_order(heads)) {
    if (!is_inside(*node)) continue;
    NodePtr copy(new Node);
    copy->op = node->op;
    copy->attrs = node->attrs;
    copy->label = std::make_unique<NodeLabel>(*node->label);
    for (const NDArray& input : node->inputs) copy->inputs.push_back(mapped(input));
    copies.emplace(node, std::move(copy));
  }
  for (const NDArray& head : heads) cut.heads.push_back(mapped(head));
  return cut;
}

Symbol control_flow_node(std::string_view op, const std::string& name, const std::vector<Symbol>& inputs,
                         const Symbol::Texts& attrs, const Symbol::Texts& node_attrs,
                         const std::vector<Symbol>& bodies) {
  Symbol made = Symbol::apply(op, name, inputs, attrs, node_attrs);
  for (const Symbol& body : bodies) made.outputs().at(0).node()->label->subgraphs.push_back(body.outputs());
  return made;
}

}  // namespace headrace
