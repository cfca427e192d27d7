#include "graph/signature.h"

#include <algorithm>

#include "base/check.h"
#include "graph/labels.h"
#include "graph/nodes.h"

namespace headrace {
namespace {

constexpr size_t kMostInputs = 1 << 14;  // that a text may ask for

// Of an operator that takes any number of inputs: the attribute that says how many; null where none does.
const FieldInfo* count_field(const OpDef& op) {
  const auto found = std::ranges::find_if(op.schema->fields, &FieldInfo::counts_inputs);
  return found == op.schema->fields.end() ? nullptr : &*found;
}

size_t wanted_of_any_number(const Node& node, size_t given) {
  const OpDef& op = *node.op;
  if (op.control_flow != ControlFlow::kNone) return given;  // num_args counts the bodies, and no input is left out
  size_t wanted = op.input_count ? op.input_count(*node.attrs) : given;
  const FieldInfo* field = count_field(op);
  if (!field) return std::max(wanted, given);
  if (!op.input_count && node.label->attrs.contains(field->name))
    wanted = static_cast<size_t>(std::max<int64_t>(std::get<int64_t>(field->get(node.attrs->data())), 0));
  check(wanted > 0, ErrorKind::kRuntime, "{}: at least one input is needed; give some, or say how many in {}", op.name,
        field->name);
  check(wanted <= kMostInputs, ErrorKind::kRuntime, "{}: {} of {} is more than the {} inputs that a node may have",
        op.name, field->name, wanted, kMostInputs);
  return wanted;
}

}  // namespace

size_t wanted_inputs(const Node& node, size_t given) {
  const OpDef& op = *node.op;
  const size_t least = input_count(op, *node.attrs), most = op.input_count ? least : op.inputs.size();
  const size_t wanted = op.variadic ? wanted_of_any_number(node, given) : std::clamp(given, least, most);
  check(given <= wanted, ErrorKind::kRuntime, "{}: {} inputs are taken, got {}", op.name, wanted, given);
  return wanted;
}

std::string input_name(const Node& node, size_t i) {
  const OpDef& op = *node.op;
  const std::string own = op.input_name ? op.input_name(*node.attrs, i) : "";
  if (!own.empty()) return own;
  return op.variadic ? fmt::format("{}{}", op.array_names.inputs, i) : op.inputs[i];
}

std::string initial_value(const Node& node, size_t i) {
  const std::vector<std::string>& values = node.op->array_names.initial_values;
  return i < values.size() ? values[i] : "";
}

std::string output_name(const Node& node, uint32_t index) {
  const std::string& name = node.label->name;
  if (!node.op) return name;
  const ArrayNames& names = node.op->array_names;
  if (node.op->open) return fmt::format("{}_{}", name, node.op->open.output_name(*node.attrs, index));
  if (index < names.outputs.size()) return fmt::format("{}_{}", name, names.outputs[index]);
  const bool is_only = visible_output_count(node) == 1 && !(names.numbers_counted && counted_outputs(node) > 1);
  return is_only ? name + "_output" : fmt::format("{}_output{}", name, index);
}

size_t counted_outputs(const Node& node) {
  if (!node.op) return 1;
  return node.op->counted_outputs ? node.op->counted_outputs(*node.attrs) : output_count(node);
}

}  // namespace headrace
