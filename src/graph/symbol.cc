#include "headrace/symbol.hpp"

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "base/output_file.h"
#include "base/text_file.h"
#include "graph/json.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/rewire.h"
#include "graph/signature.h"

namespace headrace {
namespace {

NodePtr make_node(const OpDef* op, std::string name) {
  NodePtr node(new Node);
  node->op = op;
  node->label = std::make_unique<NodeLabel>();
  node->label->name = std::move(name);
  return node;
}

Symbol all_outputs(Node* node) {
  std::vector<NDArray> outputs;
  for (size_t i = 0; i < visible_output_count(*node); ++i) outputs.push_back(output_of(node, static_cast<uint32_t>(i)));
  return Symbol(std::move(outputs));
}

const NDArray& single_output(const Symbol& input, const OpDef& op) {
  check(input.size() == 1, ErrorKind::kRuntime,
        "{}: an input must be one output of a symbol, got a symbol of {} outputs; pick one by its index", op.name,
        input.size());
  return input.outputs()[0];
}

std::string automatic_name(std::string_view op) {
  static std::atomic<uint64_t> count{0};
  std::string name(op);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name + std::to_string(count.fetch_add(1));
}

// "lr_mult" of "weight_lr_mult"; empty for what is not about an input.
std::string said_of_input(const std::string& key) {
  const size_t end = key.find('_');
  const std::string rest = end == std::string::npos ? "" : key.substr(end + 1);
  return stored_key(rest) == rest ? "" : rest;
}

[[noreturn]] void refuse_text(const OpDef& op, const std::string& key) {
  const std::string said = said_of_input(key);
  check(said.empty(), ErrorKind::kRuntime,
        "{}: {} is no longer said to the operator; say it to the variable: {}(..., {}=var(name, {}=value))", op.name,
        key, op.name, key.substr(0, key.find('_')), said);
  fail(ErrorKind::kRuntime, "{}: Cannot find argument '{}'; the inputs are {}, the attributes {}", op.name, key,
       op.inputs.empty() ? "none" : fmt::format("{}", fmt::join(op.inputs, ", ")), field_names(op));
}

}  // namespace

AttrsPtr parse_attrs(const OpDef& op, const Symbol::Texts& texts) {
  IntrusivePtr<Attrs> made;
  for (const auto& [key, value] : texts) {
    if (is_node_attr(key)) continue;
    const FieldInfo* field = op.schema->find(key);
    if (!field && op.open) {
      if (!made) made = op.make_attrs();
      op.open.set_text(*made, key, value);
      continue;
    }
    // Files name a device where the operator would have made a new array.
    if (!field && ((key == "num_args" && op.variadic) || key == "ctx")) continue;
    if (op.schema->fields.empty() && said_of_input(key).empty()) continue;  // for the program: nothing reads it here
    if (!field) refuse_text(op, key);
    if (!made) made = op.make_attrs();
    if (value == "None") {  // not given, unless None is a value of the field
      if (field->nullable) field->set(made->mutable_data(), std::monostate{}, *field, op.name.c_str());
      continue;
    }
    field->set(made->mutable_data(), value, *field, op.name.c_str());
  }
  for (const FieldInfo& field : op.schema->fields)
    check(!field.required || texts.contains(field.name), ErrorKind::kRuntime,
          "{}: Required parameter {} is missing: {}", op.name, field.name, field.doc);
  return made ? AttrsPtr(made.get()) : op.default_attrs;
}

Symbol Symbol::variable(const std::string& name, Texts attrs) {
  NodePtr node = make_node(nullptr, name);
  for (auto& [key, value] : attrs) node->label->attrs.emplace(stored_key(key), value);
  return Symbol({output_of(node.get(), 0)});
}

Symbol Symbol::group(const std::vector<Symbol>& parts) {
  std::vector<NDArray> outputs;
  for (const Symbol& part : parts) outputs.insert(outputs.end(), part.outputs_.begin(), part.outputs_.end());
  return Symbol(std::move(outputs));
}

namespace {

// What is given, up to the last one. Optional inputs that are missing before others are left out where the attributes
// want fewer inputs; else they become variables.
std::vector<Symbol> without_gaps(const Node& node, std::vector<Symbol> inputs) {
  const OpDef& op = *node.op;
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  if (op.variadic || !op.input_count) return inputs;
  const size_t wanted = op.input_count(*node.attrs), required = op.inputs.size() - op.optional_inputs;
  for (size_t i = inputs.size(); i-- > required && inputs.size() > wanted;)
    if (!inputs[i]) inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(i));
  return inputs;
}

}  // namespace

Symbol Symbol::apply(std::string_view op_name, const std::string& name, const std::vector<Symbol>& inputs,
                     const Texts& attrs, const Texts& node_attrs) {
  const OpDef& op = find_op(op_name);
  NodePtr node = make_node(&op, name.empty() ? automatic_name(op.name) : name);
  NodeLabel& label = *node->label;
  for (const Texts* texts : {&attrs, &node_attrs})
    for (const auto& [key, value] : *texts) label.attrs.emplace(stored_key(key), value);
  if (op.variadic && op.schema->find("num_args")) label.attrs.emplace("num_args", std::to_string(inputs.size()));
  node->attrs = parse_attrs(op, label.attrs);
  const std::vector<Symbol> present = without_gaps(*node, inputs);
  const size_t wanted = wanted_inputs(*node, present.size());
  for (size_t i = 0; i < wanted; ++i) {
    if (i < present.size() && present[i])
      node->inputs.push_back(single_output(present[i], op));
    else
      node->inputs.push_back(missing_input(*node, i, label.attrs));
    set_initial_value(*node, i);
  }
  spell(*node);
  return all_outputs(node.get());
}

Symbol Symbol::operator[](size_t i) const {
  check(i < outputs_.size(), ErrorKind::kIndex, "Symbol: index {} is out of range, there are {} outputs", i,
        outputs_.size());
  return Symbol({outputs_[i]});
}

namespace {

Node& node_of(const NDArray& output) {
  const NodePtr& node = output.node();
  check(node && node->label, ErrorKind::kValue,
        "Symbol: expected outputs of variables and of operators on them, got an array with values");
  return *node;
}

}  // namespace

std::string Symbol::name() const {
  if (outputs_.empty()) return {};
  const Node& node = node_of(outputs_[0]);
  for (const NDArray& output : outputs_)
    if (&node_of(output) != &node) return {};
  return node.label->name;
}

std::vector<std::string> Symbol::list_inputs() const {
  std::vector<std::string> names;
  for (const Node* node : inputs_of(outputs_).all) names.push_back(node->label->name);
  return names;
}

namespace {

std::vector<std::string> names_of(const Symbol& symbol, bool auxiliary) {
  const GraphInputs inputs = inputs_of(symbol.outputs());
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.all.size(); ++i)
    if (inputs.is_auxiliary[i] == auxiliary) names.push_back(inputs.all[i]->label->name);
  return names;
}

}  // namespace

std::vector<std::string> Symbol::list_arguments() const { return names_of(*this, false); }
std::vector<std::string> Symbol::list_auxiliary_states() const { return names_of(*this, true); }

std::vector<std::string> Symbol::list_outputs() const {
  std::vector<std::string> names;
  for (const NDArray& output : outputs_) names.push_back(output_name(node_of(output), output.output_index()));
  return names;
}

Symbol Symbol::internals() const {
  std::vector<NDArray> outputs;
  for (Node* node : topological_order(outputs_))
    for (size_t i = 0; i < visible_output_count(*node); ++i)
      outputs.push_back(output_of(node, static_cast<uint32_t>(i)));
  return Symbol(std::move(outputs));
}

Symbol Symbol::children() const {
  std::vector<NDArray> inputs;
  std::vector<const Node*> seen;
  for (const NDArray& output : outputs_) {
    const Node& node = node_of(output);
    if (std::find(seen.begin(), seen.end(), &node) != seen.end()) continue;
    seen.push_back(&node);
    inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.end());
  }
  return Symbol(std::move(inputs));
}

std::optional<std::string> Symbol::attr(const std::string& key) const {
  const Texts all = attrs();
  if (auto found = all.find(key); found != all.end()) return found->second;
  return std::nullopt;
}

Symbol::Texts Symbol::attrs() const {
  return outputs_.empty() ? Texts{} : shown_attrs(node_of(outputs_[0]).label->attrs);
}

std::map<std::string, Symbol::Texts> Symbol::attr_dict() const {
  std::map<std::string, Texts> all;
  for (const Node* node : topological_order(outputs_))
    if (!node->label->attrs.empty()) all[node->label->name] = shown_attrs(node->label->attrs);
  return all;
}

void Symbol::set_attr(const std::string& key, const std::string& value) {
  for (NDArray& output : outputs_) {
    Node& node = node_of(output);
    node.label->attrs[stored_key(key)] = value;
    if (node.op) node.attrs = parse_attrs(*node.op, node.label->attrs);
  }
}

std::string Symbol::to_json(int is_np_shape) const { return write_graph(outputs_, is_np_shape); }

void Symbol::save(const std::string& path) const {
  OutputFile file(path);
  file.write(to_json());
  file.commit();
}

Symbol Symbol::load(const std::string& path) {
  constexpr size_t kMostBytes = size_t{256} << 20;
  std::string text;
  try {
    text = read_text_file(path, kMostBytes);
  } catch (const Error& error) {
    fail(ErrorKind::kRuntime, "symbol.load: Open \"{}\": {}", path, error.what());
  }
  try {
    return from_json(text);
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", path, error.what());
  }
}

Symbol Symbol::from_json(std::string_view text) { return Symbol(read_graph(text)); }

namespace {

// KeyError unless the graph has these variables.
void check_variables(const Symbol& symbol, const std::map<std::string, Symbol>& replacements) {
  const std::vector<std::string> variables = symbol.list_inputs();
  for (const auto& [name, replacement] : replacements) {
    check(replacement.size() == 1, ErrorKind::kValue, "compose: {} must be replaced by one output, got {}", name,
          replacement.size());
    if (std::ranges::find(variables, name) != variables.end()) continue;
    std::string candidates;
    for (size_t i = 0; i < variables.size(); ++i) candidates += fmt::format("\n\t[{}]{}", i, variables[i]);
    fail(ErrorKind::kKey, "compose: Keyword argument name {} not found.\nCandidate arguments:{}", name, candidates);
  }
}

}  // namespace

Symbol Symbol::compose(const std::map<std::string, Symbol>& replacements, const std::string& name) const {
  check_variables(*this, replacements);
  const Node* renamed = name.empty() || outputs_.empty() ? nullptr : outputs_[0].node().get();
  check(!renamed || !is_variable(*renamed), ErrorKind::kValue, "compose: {} is a variable, it cannot be called {}",
        renamed ? renamed->label->name : "", name);
  return Symbol(rewired(
      outputs_,
      [&](const Node& node, std::span<const NDArray>) -> std::vector<NDArray> {
        const auto found = is_variable(node) ? replacements.find(node.label->name) : replacements.end();
        return found == replacements.end() ? std::vector<NDArray>() : found->second.outputs();
      },
      renamed, name));
}

Symbol Symbol::without_amp_casts() const {
  return Symbol(rewired(outputs_, [](const Node& node, std::span<const NDArray> inputs) -> std::vector<NDArray> {
    if (!node.op || (node.op->name != "amp_cast" && node.op->name != "amp_multicast")) return {};
    return {inputs.begin(), inputs.end()};
  }));
}

}  // namespace headrace
