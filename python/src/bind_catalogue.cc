// The catalogue as Python sees it: functions by path, descriptions for documentation, stubs and tests.

#include <unordered_map>

#include "base/check.h"
#include "bindings.h"
#include "convert.h"
#include "op/invoke.h"
#include "op_function.h"
#include "ops/families.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

bool is_np_path(const std::string& path) {
  return path.starts_with("np.") || path.starts_with("npx.") || path.starts_with("ndarray.");
}

nb::list texts(const std::vector<std::string>& values) {
  nb::list list;
  for (const std::string& value : values) list.append(python_text(value));
  return list;
}

nb::dict describe_field(const OpDef& op, const FieldInfo& field) {
  IntrusivePtr<Attrs> defaults = op.make_attrs();
  nb::dict d;
  d["name"] = field.name;
  d["doc"] = field.doc;
  d["kind"] = names_of(field.kind).in_catalogue;
  d["nullable"] = field.nullable;
  d["required"] = field.required;
  d["of_files"] = field.of_files;
  d["choices"] = field.choices ? nb::object(nb::str(field.choices)) : nb::none();
  d["default"] = nb::steal(from_attr_value(field.get(defaults->data())));
  return d;
}

nb::dict describe_sample(const OpDef& op, const Sample& sample) {
  nb::dict d;
  nb::list inputs;
  for (const SampleArray& array : sample.inputs) {
    nb::dict one;
    one["shape"] = nb::steal(from_shape(array.shape));
    one["dtype"] = python_text(std::string(dtype_name(array.dtype)));
    one["low"] = array.low;
    one["high"] = array.high;
    nb::list listed;
    for (double value : array.values) listed.append(value);
    one["values"] = listed;
    inputs.append(one);
  }
  nb::dict attrs;
  if (sample.attrs)
    for (const FieldInfo& field : op.schema->fields)
      attrs[field.name] = nb::steal(from_attr_value(field.get(sample.attrs->data())));
  d["inputs"] = inputs;
  d["attrs"] = attrs;
  return d;
}

// Registered name to the number of the operator's family in the list of ops/families.h.
std::unordered_map<std::string, size_t> family_numbers() {
  std::unordered_map<std::string, size_t> numbers;
  for (size_t i = 0; i < std::size(kFamilies); ++i)
    for (const OpDef& op : kFamilies[i]()) numbers.emplace(op.name, i);
  return numbers;
}

nb::dict describe(const OpDef& op) {
  nb::dict d;
  d["name"] = python_text(op.name);
  d["aliases"] = texts(op.aliases);
  d["python"] = texts(op.python);
  d["doc"] = python_text(op.doc);
  d["inputs"] = texts(op.inputs);
  d["np_inputs"] = texts(op.np_inputs);
  d["variadic"] = op.variadic;
  d["list_input"] = op.list_input;
  d["optional_inputs"] = op.optional_inputs;
  d["outputs"] = op.outputs;
  const ScalarForms& forms = op.scalar_forms;
  d["scalar_forms"] = forms.right.empty()
                          ? nb::object(nb::none())
                          : nb::object(nb::make_tuple(python_text(forms.right), python_text(forms.left)));
  d["is_view"] = static_cast<bool>(op.as_view);
  d["is_pointwise"] = static_cast<bool>(op.pointwise);
  d["is_composed"] = static_cast<bool>(op.compose);
  d["is_random"] = op.is_random;
  d["mutates"] = op.mutates;
  d["differentiable"] = static_cast<bool>(op.gradient);
  d["zero_gradient"] = op.zero_gradient;
  d["own_gradient"] = op.own_gradient;
  nb::list fields, samples;
  for (const FieldInfo& field : op.schema->fields) fields.append(describe_field(op, field));
  for (const Sample& sample : op.samples) samples.append(describe_sample(op, sample));
  d["fields"] = fields;
  d["samples"] = samples;
  d["unsampled"] = op.unsampled ? nb::object(nb::str(op.unsampled)) : nb::none();
  return d;
}

nb::list all_functions() {
  nb::list all;
  for (const OpDef& op : catalogue().all())
    for (const std::string& path : op.python) {
      const std::string name = path.substr(path.rfind('.') + 1);
      const bool np = is_np_path(path);
      all.append(nb::make_tuple(python_text(path), nb::steal(make_op_function(op, name.c_str(), np, !np))));
    }
  return all;
}

nb::list all_descriptions() {
  nb::list all;
  const auto families = family_numbers();
  for (const OpDef& op : catalogue().all()) {
    nb::dict described = describe(op);
    described["family"] = families.at(op.name);
    all.append(described);
  }
  return all;
}

}  // namespace

void bind_catalogue(nb::module_& m) {
  m.def(
      "functions", [] { return translated(all_functions); },
      "Pairs of a path ('nd.exp', 'np.linalg.norm', 'NDArray.exp') and the callable that belongs there.");
  m.def(
      "catalogue", [] { return translated(all_descriptions); }, "A description of every operator.");
  m.def(
      "invoke",
      [](nb::str name, nb::handle inputs, nb::handle attrs, bool np) {
        return translated([&] {
          const OpDef& op = find_op(name.c_str());
          nb::list results;
          for (NDArray& one : invoke_all(op, attrs_from(op, attrs.ptr()), arrays_from(inputs)))
            results.append(wrapped(std::move(one), np));
          return results;
        });
      },
      "All results of the operator with this registered name.");
  m.def(
      "function",
      [](nb::str name, bool np, bool copies) {
        return translated([&] { return nb::steal(make_op_function(find_op(name.c_str()), name.c_str(), np, copies)); });
      },
      nb::arg("name"), nb::arg("np"), nb::arg("copies") = false,
      "The callable of a registered operator. With `copies` its results share no memory with arguments.");
}

}  // namespace headrace::python
