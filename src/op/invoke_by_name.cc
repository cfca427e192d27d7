#include "op/invoke_by_name.h"

#include <algorithm>

#include "base/check.h"
#include "op/invoke.h"

namespace headrace {
namespace {

void check_required(const OpDef& op, std::span<const Option> options) {
  for (const FieldInfo& field : op.schema->fields) {
    bool given = std::any_of(options.begin(), options.end(),
                             [&](const Option& option) { return std::string_view(option.name) == field.name; });
    check(given || !field.required, ErrorKind::kType, "{}: option '{}' is required: {}", op.name, field.name,
          field.doc);
  }
}

}  // namespace

AttrsPtr attrs_from(const OpDef& op, std::span<const Option> options, size_t input_count) {
  check_required(op, options);
  const FieldInfo* count = op.variadic ? op.schema->find("num_args") : nullptr;
  if (options.empty() && !count) return op.default_attrs;
  IntrusivePtr<Attrs> attrs = op.make_attrs();
  for (const Option& option : options) {
    const FieldInfo* field = op.schema->find(option.name);
    check(field != nullptr, ErrorKind::kType, "{}: there is no option named '{}'", op.name, option.name);
    field->set(attrs->mutable_data(), option.value, *field, op.name.c_str());
  }
  if (count) count->set(attrs->mutable_data(), static_cast<int64_t>(input_count), *count, op.name.c_str());
  return AttrsPtr(attrs.get());
}

std::vector<NDArray> invoke(std::string_view operation, std::span<const NDArray> inputs,
                            std::span<const Option> options) {
  const OpDef& op = find_op(operation);
  size_t required = op.variadic ? inputs.size() : op.inputs.size() - op.optional_inputs;
  while (inputs.size() > required && !inputs.back()) inputs = inputs.first(inputs.size() - 1);
  std::vector<NDArray> results = invoke_all(op, attrs_from(op, options, inputs.size()), inputs);
  if (op.visible_outputs && results.size() > op.visible_outputs) results.resize(op.visible_outputs);
  return results;
}

}  // namespace headrace
