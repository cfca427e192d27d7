// Types of loops, branches and joined layers follow from those of their bodies.

#include <algorithm>

#include "base/check.h"
#include "graph/control_flow.h"
#include "graph/infer_node.h"
#include "graph/joined_layers.h"
#include "graph/nodes.h"
#include "op/rule.h"
#include "ops/control/control_flow.h"

namespace headrace {
namespace {

using Type = InferredTypes::Type;

// One body of a node.
struct Part {
  const std::vector<NDArray>* heads;
  std::vector<size_t> sources;  // which input of the node each variable of the body is
  size_t entries = 0;           // how many of the node's inputs, from the first, are read entry by entry along axis 0
  bool has_results = true;      // whether the node's results are this body's
};

template <class Locations>
std::vector<size_t> places(const Node& node, const Locations& locations) {
  std::vector<size_t> result;
  for (const auto& location : locations) {
    const int64_t place = std::optional<int64_t>(location).value_or(-1);
    check(place >= 0 && static_cast<size_t>(place) < node.inputs.size(), ErrorKind::kRuntime,
          "{}: location {} lies outside the {} inputs", node.label->name, place, node.inputs.size());
    result.push_back(static_cast<size_t>(place));
  }
  return result;
}

// A foreach says where each of its inputs stands among the body's variables.
std::vector<size_t> foreach_sources(const Node& node, const ForeachAttrs& a) {
  std::vector<int64_t> readers;
  for (const Shape* part : {&a.in_data_locs, &a.in_state_locs, &a.remain_locs})
    readers.insert(readers.end(), part->begin(), part->end());
  const std::vector<size_t> where = places(node, readers);
  check(where.size() == node.inputs.size(), ErrorKind::kRuntime, "{}: {} locations for {} inputs", node.label->name,
        where.size(), node.inputs.size());
  std::vector<size_t> sources(where.size(), where.size());
  for (size_t i = 0; i < where.size(); ++i) {
    check(sources[where[i]] == where.size(), ErrorKind::kRuntime, "{}: two inputs stand at location {} of the body",
          node.label->name, where[i]);
    sources[where[i]] = i;
  }
  return sources;
}

std::vector<Part> parts_of(const Node& node) {
  const auto& bodies = node.label->subgraphs;
  const auto needed = static_cast<size_t>(node.op->control_flow);  // as many as the kind counts
  check(needed > 0 && !node.inputs.empty(), ErrorKind::kRuntime, "{}: operator {} with {} inputs takes no subgraphs",
        node.label->name, node.op->name, node.inputs.size());
  check(bodies.size() == needed, ErrorKind::kRuntime, "{}: {} bodies are needed, got {}", node.label->name, needed,
        bodies.size());
  if (needed == 1) {
    const auto& a = node.attrs->as<ForeachAttrs>();
    return {{&bodies[0], foreach_sources(node, a), a.in_data_locs.size()}};
  }
  if (needed == 2) {
    const auto& a = node.attrs->as<WhileAttrs>();
    return {{&bodies[0], places(node, a.cond_input_locs), 0, false}, {&bodies[1], places(node, a.func_input_locs)}};
  }
  const auto& a = node.attrs->as<CondAttrs>();
  return {{&bodies[0], places(node, a.cond_input_locs), 0, false},
          {&bodies[1], places(node, a.then_input_locs)},
          {&bodies[2], places(node, a.else_input_locs)}};
}

// How many rows results get that have one for each step; -1: unknown, or there are no steps.
int64_t rows_of(const Node& node, const NodeTypes& types) {
  if (node.op->control_flow == ControlFlow::kWhile) return node.attrs->as<WhileAttrs>().max_iterations;
  if (node.op->control_flow != ControlFlow::kForeach) return -1;
  const auto& data = types.inputs.at(0).shape;
  return data && !data->empty() ? (*data)[0] : -1;
}

void fill(const Node& node, Type& type, std::optional<Shape> shape, std::optional<DType> dtype) {
  if (!type.dtype) type.dtype = dtype;
  if (!shape) return;
  std::optional<Shape> known[] = {type.shape};
  Completion(node.label->name.c_str(), known).set(0, *shape);
  type.shape = known[0];
}

// How many results a loop has that get a row for each step, and how many that its steps hand on; 0 for a branch.
struct LoopResults {
  int64_t stacked = 0, states = 0;
};

LoopResults loop_results(const Node& node) {
  if (node.op->control_flow == ControlFlow::kForeach) {
    const auto& a = node.attrs->as<ForeachAttrs>();
    return {a.num_out_data, static_cast<int64_t>(a.in_state_locs.size())};
  }
  if (node.op->control_flow == ControlFlow::kWhile) {
    const auto& a = node.attrs->as<WhileAttrs>();
    return {a.num_out_data, static_cast<int64_t>(a.func_var_locs.size())};
  }
  return {};
}

void infer_part(const Node& node, const Part& part, NodeTypes& types) {
  const Symbol body(*part.heads);
  const std::vector<std::string> names = body.list_inputs();
  KnownTypes known;
  for (size_t i = 0; i < names.size(); ++i) {
    const Type& type = types.inputs.at(part.sources[i]);
    const bool is_entry = part.sources[i] < part.entries;
    if (type.dtype) known.dtypes[names[i]] = *type.dtype;
    if (type.shape && !(is_entry && type.shape->empty()))
      known.shapes[names[i]] = is_entry ? entry_shape(*type.shape) : *type.shape;
  }
  const InferredTypes found = infer_types(body, known);
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t source = part.sources[i];
    if (source >= part.entries) fill(node, types.inputs[source], found.inputs[i].shape, found.inputs[i].dtype);
  }
  if (!part.has_results) return;
  const auto stacked = static_cast<size_t>(loop_results(node).stacked);
  for (size_t k = 0; k < found.outputs.size(); ++k) {
    std::optional<Shape> shape = found.outputs[k].shape;
    if (shape && k < stacked) shape->insert(size_t{0}, rows_of(node, types));
    fill(node, types.outputs[k], shape, found.outputs[k].dtype);
  }
}

void infer_layer(const Node& node, NodeTypes& types) {
  const OpenedLayer layer = opened_layer(node);
  KnownTypes known;
  std::unordered_map<const Node*, size_t> places;
  for (size_t i = 0; i < layer.variables.size(); ++i) {
    const Node* variable = layer.variables[i].node().get();
    places.emplace(variable, i);
    if (types.inputs[i].dtype) known.dtypes[variable->label->name] = *types.inputs[i].dtype;
    if (types.inputs[i].shape) known.shapes[variable->label->name] = *types.inputs[i].shape;
  }
  const InferredTypes found = infer_types(Symbol(layer.results), known);
  const std::vector<Node*> variables = inputs_of(layer.results).all;
  for (size_t i = 0; i < variables.size(); ++i)
    fill(node, types.inputs[places.at(variables[i])], found.inputs[i].shape, found.inputs[i].dtype);
  for (size_t k = 0; k < found.outputs.size(); ++k)
    fill(node, types.outputs[k], found.outputs[k].shape, found.outputs[k].dtype);
}

}  // namespace

void check_bodies(const Node& node) {
  if (node.op->control_flow == ControlFlow::kLayer) return check_layer(node);
  const size_t stated = output_count(node);
  for (const Part& part : parts_of(node)) {
    const size_t inputs = inputs_of(*part.heads).all.size(), outputs = part.heads->size();
    const size_t wanted = part.has_results ? stated : 1;
    check(inputs == part.sources.size(), ErrorKind::kRuntime, "{}: a body has {} inputs, not {}", node.label->name,
          inputs, part.sources.size());
    check(outputs == wanted, ErrorKind::kRuntime, "{}: a body gives {} outputs, not {}", node.label->name, outputs,
          wanted);
  }
  if (node.op->control_flow == ControlFlow::kCond) return;
  const LoopResults results = loop_results(node);
  check(results.stacked >= 0 && results.stacked == static_cast<int64_t>(stated) - results.states, ErrorKind::kRuntime,
        "{}: {} stacked outputs and {} states are not its {} outputs", node.label->name, results.stacked,
        results.states, stated);
  if (node.op->control_flow != ControlFlow::kWhile) return;
  const int64_t most = node.attrs->as<WhileAttrs>().max_iterations;
  check(most >= 0, ErrorKind::kValue, "{}: max_iterations must be at least 0, got {}", node.label->name, most);
}

void infer_from_bodies(const Node& node, NodeTypes& types) {
  if (node.op->control_flow == ControlFlow::kLayer) return infer_layer(node, types);
  check_bodies(node);
  const std::vector<Part> parts = parts_of(node);
  for (const Part& part : parts) infer_part(node, part, types);
}

}  // namespace headrace
