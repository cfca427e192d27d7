#include "ops/control/custom.h"

#include <algorithm>

#include "base/check.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "op/trace.h"

namespace headrace {
namespace {

CustomFactory& factory() {
  static CustomFactory& instance = *new CustomFactory;
  return instance;
}

std::string listed(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

const std::string& name_of(const std::vector<std::string>& names, size_t i) {
  static const std::string& none = *new std::string;
  return i < names.size() ? names[i] : none;
}

// Shapes of inputs, outputs and states where some are not known. The program's rules begin with the first input.
void complete(Completion& c, const CustomAttrs& a) {
  const CustomProperty& property = a.property();
  const size_t inputs = property.names().inputs.size(), outputs = property.names().outputs.size();
  if (c.input_count() != property.array_count() || (inputs > 0 && !c.is_known(0))) return;
  std::vector<Shape> known;
  for (size_t i = 0; i < inputs; ++i) known.push_back(c.has_rank(i) ? c.shape(i) : Shape{});
  const std::vector<Shape> shapes = property.shapes(known);
  for (size_t i = 0; i < inputs; ++i)
    if (c.has_rank(i) || !shapes[i].empty()) c.set(i, shapes[i]);
  for (size_t k = 0; k < outputs; ++k) c.set_output(k, shapes[inputs + k]);
  for (size_t i = inputs; i < c.input_count(); ++i) c.set(i, shapes[outputs + i]);
}

// The outputs as abstract arrays. Raises where the program says other shapes or dtypes for the inputs than they have.
std::vector<NDArray> output_types(const CustomProperty& property, const CustomAttrs& a,
                                  std::span<const NDArray> arrays) {
  const CustomProperty::Names& names = property.names();
  const size_t inputs = names.inputs.size(), outputs = names.outputs.size();
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  for (const NDArray& array : arrays.first(inputs)) {
    shapes.push_back(array.shape());
    dtypes.push_back(array.dtype());
  }
  shapes = property.shapes(shapes);
  dtypes = property.dtypes(dtypes);
  for (size_t i = 0; i < arrays.size(); ++i) {
    const size_t place = i < inputs ? i : outputs + i;
    const std::string& name = i < inputs ? names.inputs[i] : names.states[i - inputs];
    check(arrays[i].shape() == shapes[place], ErrorKind::kRuntime,
          "Custom({}): Shape inconsistent, {} has shape {}, but infer_shape says {}", a.op_type, name,
          to_string(arrays[i].shape()), to_string(shapes[place]));
    check(arrays[i].dtype() == dtypes[place], ErrorKind::kRuntime,
          "Custom({}): {} holds {}, but infer_type says {}; cast it", a.op_type, name, dtype_name(arrays[i].dtype()),
          dtype_name(dtypes[place]));
  }
  std::vector<NDArray> types;
  for (size_t k = inputs; k < inputs + outputs; ++k) types.push_back(abstract_variable(shapes[k], dtypes[k]));
  return types;
}

std::vector<NDArray> run(std::span<const NDArray> arrays, const CustomAttrs& a) {
  const CustomProperty& property = a.property();
  const CustomProperty::Names& names = property.names();
  check(arrays.size() == property.array_count(), ErrorKind::kRuntime,
        "Custom({}): {} arrays are needed, got {}; the inputs are: {}; auxiliary states: {}", a.op_type,
        property.array_count(), arrays.size(), listed(names.inputs), listed(names.states));
  std::vector<NDArray> types = output_types(property, a, arrays);
  const bool is_traced = arrays.empty() ? thread_state().tracing : std::ranges::any_of(arrays, is_abstract);
  return is_traced ? types : property.run(arrays, types);
}

}  // namespace

void set_custom_factory(CustomFactory make) { factory() = std::move(make); }

const CustomProperty& CustomAttrs::property() const {
  if (auto known = made.made_.load()) return *known;
  check(!op_type.empty(), ErrorKind::kRuntime, "Custom: Required argument `op_type` is missing");
  check(static_cast<bool>(factory()), ErrorKind::kRuntime, "Cannot find custom operator {}: no frontend has any",
        op_type);
  // No lock: making it runs code of the program, which may do anything. Of two threads the first one's stays.
  std::shared_ptr<const CustomProperty> none, mine = factory()(op_type, texts);
  return made.made_.compare_exchange_strong(none, mine) ? *mine : *none;
}

Operators custom_operators() {
  return {general<CustomAttrs>(
      {.name = "Custom",
       .aliases = {"_npi_Custom"},
       .python = {"nd.Custom"},
       .doc =
           "Runs an operator that mx.operator.register has made known. Further keywords are given to its property, as "
           "text.",
       .variadic = true,
       .output_count = [](const CustomAttrs& a) { return a.property().names().outputs.size(); },
       .input_name =
           [](const CustomAttrs& a, size_t i) {
             const CustomProperty::Names& names = a.property().names();
             return i < names.inputs.size() ? names.inputs[i] : name_of(names.states, i - names.inputs.size());
           },
       .input_count = [](const CustomAttrs& a) { return a.property().array_count(); },
       .complete = complete,
       .result_dtype =
           [](std::span<const DType> inputs, const CustomAttrs& a, size_t k) {
             const size_t count = a.property().names().inputs.size();
             return a.property().dtypes(inputs.first(count)).at(count + k);
           },
       .compose = run,
       .starts_gradient = true,
       .unsampled = "what it does is in the program",
       .open =
           OpenEnds{
               .texts = [](const Attrs& a) -> const CustomTexts& { return a.as<CustomAttrs>().texts; },
               .set_text =
                   [](Attrs& a, const std::string& key, const std::string& value) {
                     static_cast<CustomAttrs*>(a.mutable_data())->texts[key] = value;
                   },
               .output_name = [](const CustomAttrs& a, size_t i) { return name_of(a.property().names().outputs, i); },
               .is_state = [](const CustomAttrs& a, size_t i) { return i >= a.property().names().inputs.size(); }}})};
}

}  // namespace headrace
