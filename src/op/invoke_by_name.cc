#include "op/invoke_by_name.h"

#include <algorithm>

#include "base/check.h"
#include "ndarray/snapshot.h"
#include "op/invoke.h"

namespace headrace {
namespace {

void check_required(const OpDef& op, std::span<const Option> options) {
  for (const FieldInfo& field : op.schema->fields) {
    bool given = std::any_of(options.begin(), options.end(),
                             [&](const Option& option) { return std::string_view(option.name) == field.name; });
    check(given || !field.required, ErrorKind::kType, "{}: option '{}' is required: {}", op.shown_name(), field.name,
          field.doc);
  }
}

const Storage* dense_storage_of(const NDArray& array) {
  return array && array.storage_kind() == StorageKind::kDense ? array.view()->storage() : nullptr;
}

}  // namespace

AttrsPtr attrs_from(const OpDef& op, std::span<const Option> options, size_t input_count) {
  check_required(op, options);
  const FieldInfo* count = op.variadic ? op.schema->find("num_args") : nullptr;
  if (options.empty() && !count) return op.default_attrs;
  IntrusivePtr<Attrs> attrs = op.make_attrs();
  for (const Option& option : options) {
    const FieldInfo* field = op.schema->find(option.name);
    check(field != nullptr, ErrorKind::kType, "{}: there is no option named '{}'", op.shown_name(), option.name);
    field->set(attrs->mutable_data(), option.value, *field, op.shown_name());
  }
  if (count) count->set(attrs->mutable_data(), static_cast<int64_t>(input_count), *count, op.shown_name());
  return AttrsPtr(attrs.get());
}

bool repeats_elements(const NDArray& array) {
  for (size_t k = 0; k < array.shape().size(); ++k)
    if (array.strides()[k] == 0 && array.shape()[k] > 1) return true;
  return false;
}

NDArray own_copy(const NDArray& array) {
  const Storage& storage = *array.view()->storage();
  // What holds most of large memory takes it over when one of the two is written, and not before.
  const bool is_most = 2 * static_cast<size_t>(array.size()) * item_size(array.dtype()) >= storage.bytes();
  const bool may_share = is_most && storage.may_share() && !repeats_elements(array);
  NDArray copy = may_share ? snapshot(array.off_tape()) : call("_copy", {array.off_tape()});
  copy.set_node(array.node(), array.output_index());
  return copy;
}

NDArray apart_from(const NDArray& result, const NDArray& argument) {
  const Storage* const storage = dense_storage_of(result);
  return storage && storage == dense_storage_of(argument) ? call("_copy", {result}) : result;
}

void take_own_memory(NDArray& result, std::span<const NDArray> arguments) {
  const Storage* const storage = dense_storage_of(result);
  if (storage && std::ranges::find(arguments, storage, dense_storage_of) != arguments.end()) result = own_copy(result);
}

std::vector<NDArray> invoke_apart(std::string_view operation, std::span<const NDArray> inputs,
                                  std::span<const Option> options) {
  std::vector<NDArray> results = invoke(operation, inputs, options);
  for (NDArray& result : results) take_own_memory(result, inputs);
  return results;
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
