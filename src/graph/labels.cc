#include "graph/labels.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/check.h"
#include "graph/nodes.h"
#include "graph/signature.h"
#include "op/trace.h"

namespace headrace {
namespace {

constexpr std::array<const char*, 6> kHidden = {"ctx_group",       "lr_mult",      "wd_mult",
                                                "force_mirroring", "mirror_stage", "profiler_scope"};

}  // namespace

bool is_node_attr(const std::string& key) noexcept {
  return key.size() > 4 && key.starts_with("__") && key.ends_with("__");
}

std::string stored_key(const std::string& key) {
  return std::find(kHidden.begin(), kHidden.end(), key) == kHidden.end() ? key : "__" + key + "__";
}

Symbol::Texts shown_attrs(const Symbol::Texts& stored) {
  Symbol::Texts shown = stored;
  for (const char* key : kHidden)
    if (auto found = stored.find(stored_key(key)); found != stored.end()) shown.emplace(key, found->second);
  return shown;
}

std::string field_names(const OpDef& op) {
  std::string names;
  for (const FieldInfo& field : op.schema->fields) names += (names.empty() ? "" : ", ") + std::string(field.name);
  return names.empty() ? "none" : names;
}

size_t input_count(const OpDef& op, const Attrs& attrs) {
  return op.input_count ? op.input_count(attrs) : op.inputs.size() - op.optional_inputs;
}

Symbol::Texts texts_of_attrs(const Node& node) {
  Symbol::Texts texts;
  const IntrusivePtr<Attrs> defaults = node.op->make_attrs();
  for (const FieldInfo& field : node.op->schema->fields) {
    const AttrValue value = field.get(node.attrs->data());
    if (field.required || value != field.get(defaults->data())) texts.emplace(field.name, attr_to_text(value));
  }
  if (node.op->open) texts.merge(Symbol::Texts(node.op->open.texts(*node.attrs)));
  return texts;
}

namespace {

void set_call(Node& node, const Spelling& call, std::span<const NDArray> inputs) {
  Symbol::Texts& texts = node.label->attrs;
  std::erase_if(texts, [](const auto& entry) { return !is_node_attr(entry.first); });
  for (const auto& [key, value] : call.attrs) texts.emplace(key, attr_to_text(value));
  node.op = &find_op(call.op);
  node.attrs = parse_attrs(*node.op, texts);
  node.inputs.clear();
  if (call.inputs.empty()) node.inputs.assign(inputs.begin(), inputs.end());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Spelling& input = call.inputs[i];
    if (input.op.empty()) {
      node.inputs.push_back(inputs[input.input]);
      continue;
    }
    NodePtr part(new Node);
    part->label = std::make_unique<NodeLabel>();
    part->label->name =
        fmt::format("{}_{}", node.label->name, node.op->inputs[std::min(i, node.op->inputs.size() - 1)]);
    std::ranges::copy_if(texts, std::inserter(part->label->attrs, part->label->attrs.end()),
                         [](const auto& entry) { return is_node_attr(entry.first); });
    set_call(*part, input, inputs);
    node.inputs.push_back(output_of(part.get(), 0));
  }
}

}  // namespace

void spell(Node& node) {
  if (!node.op->spelling) return;
  const std::vector<NDArray> inputs = node.inputs;
  set_call(node, node.op->spelling(*node.attrs, inputs.size()), inputs);
}

void label_nodes(std::span<const NDArray> heads) {
  size_t count = 0;
  for (Node* node : topological_order(heads)) {
    if (!node->label) {
      node->label = std::make_unique<NodeLabel>();
      std::string op = node->op->name;
      std::transform(op.begin(), op.end(), op.begin(), [](unsigned char c) { return std::tolower(c); });
      node->label->name = op + std::to_string(count++);
      node->label->attrs = texts_of_attrs(*node);
      spell(*node);
    }
    node->outputs.clear();
    for (NDArray& input : node->inputs)
      if (input.node()) input = output_of(input.node().get(), input.output_index());
  }
}

NDArray traced_variable(const std::string& name, const Shape& shape, DType dtype, const Symbol::Texts& attrs) {
  NDArray array = abstract_variable(shape, dtype);
  array.set_node(Symbol::variable(name, attrs).outputs()[0].node(), 0);
  return array;
}

// Raises unless the node is an operator or a variable of what is being traced.
void check_traced(const Node& node) {
  check(!node.is_freed() && (node.label || node.op), ErrorKind::kRuntime,
        "the traced block reads an array that has a gradient of its own or was recorded before, or calls an "
        "autograd.Function; a graph holds parameters of its block and what operators compute of the inputs");
}

Symbol symbol_of_trace(std::vector<NDArray> outputs) {
  for (const NDArray& output : outputs)
    check(output && output.node(), ErrorKind::kRuntime, "an output of the traced block does not depend on its inputs");
  for (const Node* node : topological_order(outputs)) check_traced(*node);
  label_nodes(outputs);
  for (NDArray& output : outputs) output = output_of(output.node().get(), output.output_index());
  return Symbol(std::move(outputs));
}

NDArray missing_input(const Node& node, size_t i, const Symbol::Texts& texts) {
  return Symbol::variable(node.label->name + "_" + input_name(node, i), texts).outputs()[0];
}

void set_initial_value(const Node& node, size_t i) {
  Node* const source = node.inputs[i].node().get();
  const std::string value = initial_value(node, i);
  if (!value.empty() && source && is_variable(*source)) source->label->attrs.emplace("__init__", value);
}

}  // namespace headrace
