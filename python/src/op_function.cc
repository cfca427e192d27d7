#include "op_function.h"

#include <structmember.h>

#include "array.h"
#include "base/check.h"
#include "convert.h"
#include "op/catalogue.h"

namespace headrace::python {
namespace {

PyTypeObject* op_function_type = nullptr;

// Whether a call has positional arguments, all of them numbers, and no `out`.
bool is_of_numbers(PyObject* const* arguments, size_t count, PyObject* keywords) {
  if (count == 0) return false;
  for (size_t i = 0; i < count; ++i)
    if (is_array(arguments[i]) || !as_number(arguments[i])) return false;
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i)
    if (PyTuple_GET_ITEM(keywords, i) == words().out && arguments[count + static_cast<size_t>(i)] != Py_None)
      return false;
  return true;
}

PyObject* op_function_call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  return guarded([&] {
    const OpFunction& function = *reinterpret_cast<OpFunction*>(self);
    const size_t count = static_cast<size_t>(PyVectorcall_NARGS(flags));
    const size_t total = count + static_cast<size_t>(keywords ? PyTuple_GET_SIZE(keywords) : 0);
    if (composes(function, arguments, total)) return call_on_symbols(function, arguments, count, keywords);
    if (function.of_numbers && is_of_numbers(arguments, count, keywords))
      return PyObject_Vectorcall(function.of_numbers, arguments, count, keywords);
    return call_on_arrays(function, arguments, count, keywords);
  });
}

PyObject* op_function_bind(PyObject* self, PyObject* object, PyObject*) {
  if (!object || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

PyObject* op_function_repr(PyObject* self) {
  const auto& f = *reinterpret_cast<OpFunction*>(self);
  return PyUnicode_FromFormat(f.symbolic ? "<symbol operator %U>" : "<operator %U>", f.name);
}

// Parameters with their defaults, as Python writes them: "(data, axis=None, keepdims=False, out=None, name=None)".
std::string signature_text(const OpFunction& f) {
  const OpDef& op = *f.op;
  const auto& names = f.np && !op.np_inputs.empty() ? op.np_inputs : op.inputs;
  std::string text = "(";
  bool starred = op.variadic && !op.list_input;
  for (size_t i = 0; i < names.size(); ++i) {
    bool optional = i >= names.size() - op.optional_inputs;
    text +=
        std::string(starred && i + 1 == names.size() ? "*" : "") + names[i] + (optional && !starred ? "=None, " : ", ");
  }
  IntrusivePtr<Attrs> defaults = op.make_attrs();
  bool needs_default = op.optional_inputs > 0 && !starred;
  for (const FieldInfo& field : arguments_of(op)) {
    text += field.name;
    if (!field.required || needs_default) {
      needs_default |= !starred;
      AttrValue value = field.get(defaults->data());
      bool quoted = field.kind == FieldKind::kString || field.kind == FieldKind::kDType;
      bool none = std::holds_alternative<std::monostate>(value) || field.required;
      std::string shown = none ? "None" : attr_to_text(value);
      text += "=" + (quoted && !none ? "'" + shown + "'" : shown);
    }
    text += ", ";
  }
  return text + (op.open ? "out=None, name=None, **texts)" : "out=None, name=None)");
}

PyObject* op_function_signature(PyObject* self, void*) {
  return guarded([&] {
    std::string text = signature_text(*reinterpret_cast<OpFunction*>(self));
    Ref module(checked(PyImport_ImportModule("headrace._signatures")));
    return PyObject_CallMethod(module.get(), "parse", "s", text.c_str());
  });
}

// "int or None, at least 1": what a field takes.
std::string type_text(const FieldInfo& field) {
  std::string text = field.choices ? field.choices : names_of(field.kind).in_docstrings;
  if (field.nullable) text += " or None";
  const bool has_least = field.bounds.least > -kInf, has_most = field.bounds.most < kMostInt;
  if (has_least && has_most) return text + fmt::format(", from {} to {}", field.bounds.least, field.bounds.most);
  if (has_least) return text + fmt::format(", at least {}", field.bounds.least);
  return has_most ? text + fmt::format(", at most {}", field.bounds.most) : text;
}

PyObject* op_function_doc(PyObject* self, void*) {
  return guarded([&] {
    const auto& f = *reinterpret_cast<OpFunction*>(self);
    std::string text = f.op->doc + "\n";
    const auto arguments = arguments_of(*f.op);
    if (!arguments.empty()) text += "\nParameters\n----------\n";
    for (const FieldInfo& field : arguments)
      text += fmt::format("{} : {}\n    {}\n", field.name, type_text(field), field.doc);
    return PyUnicode_FromString(text.c_str());
  });
}

PyObject* op_function_op_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<OpFunction*>(self)->op->name.c_str());
}

PyObject* op_function_on_symbols(PyObject* self, void*) {
  return guarded([&] {
    const auto& f = *reinterpret_cast<OpFunction*>(self);
    PyObject* twin = make_op_function(*f.op, utf8(f.name), f.np, f.copies);
    reinterpret_cast<OpFunction*>(twin)->symbolic = true;
    return twin;
  });
}

// What finds the same callable again, for copies and in another process.
PyObject* op_function_reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto& f = *reinterpret_cast<OpFunction*>(self);
    Ref module(checked(PyImport_ImportModule("headrace._catalogue")));
    Ref find(checked(PyObject_GetAttrString(module.get(), "find_function")));
    return Py_BuildValue("O(sOOO)", find.get(), f.op->name.c_str(), f.name, f.np ? Py_True : Py_False,
                         f.symbolic ? Py_True : Py_False);
  });
}

void op_function_dealloc(PyObject* self) {
  auto* function = reinterpret_cast<OpFunction*>(self);
  for (PyObject* name : *function->input_names) Py_DECREF(name);
  for (PyObject* name : *function->field_names) Py_DECREF(name);
  delete function->input_names;
  delete function->field_names;
  Py_XDECREF(function->name);
  Py_XDECREF(function->of_numbers);
  Py_XDECREF(function->dict);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace

const Words& words() {
  static const Words instance{PyUnicode_InternFromString("out"), PyUnicode_InternFromString("name"),
                              PyUnicode_InternFromString("attr")};
  return instance;
}

bool ready_op_function_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpFunction, vectorcall), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(OpFunction, dict), READONLY, nullptr},
      {"__name__", T_OBJECT, offsetof(OpFunction, name), READONLY, nullptr},
      {"is_np", T_BOOL, offsetof(OpFunction, np), READONLY, "Whether it gives np arrays."},
      {"of_numbers", T_OBJECT, offsetof(OpFunction, of_numbers), 0, "What takes a call with numbers alone, or None."},
      {nullptr, 0, 0, 0, nullptr}};
  static PyMethodDef methods[] = {{"__reduce__", op_function_reduce, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef properties[] = {
      {"op_name", op_function_op_name, nullptr, "Registered name of the operator.", nullptr},
      {"on_symbols", op_function_on_symbols, nullptr,
       "The same operator; it gives a symbol whatever the arguments are.", nullptr},
      {"__signature__", op_function_signature, nullptr, nullptr, nullptr},
      {"__doc__", op_function_doc, nullptr, nullptr, nullptr},
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(op_function_dealloc)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(op_function_bind)},
                                {Py_tp_repr, reinterpret_cast<void*>(op_function_repr)},
                                {Py_tp_members, members},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, properties},
                                {0, nullptr}};
  static PyType_Spec spec = {"headrace._core.OpFunction", sizeof(OpFunction), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
  op_function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return op_function_type != nullptr;
}

PyObject* make_op_function(const OpDef& op, const char* name, bool np, bool copies) {
  auto* function = reinterpret_cast<OpFunction*>(checked(op_function_type->tp_alloc(op_function_type, 0)));
  function->vectorcall = op_function_call;
  function->op = &op;
  if (!op.scalar_forms.right.empty())
    function->forms = {&op, catalogue().find(op.scalar_forms.right), catalogue().find(op.scalar_forms.left), np};
  function->np = np;
  function->copies = copies;
  function->symbolic = false;
  function->name = PyUnicode_InternFromString(name);
  function->input_names = new std::vector<PyObject*>;
  function->field_names = new std::vector<PyObject*>;
  for (const std::string& input : np && !op.np_inputs.empty() ? op.np_inputs : op.inputs)
    function->input_names->push_back(PyUnicode_InternFromString(input.c_str()));
  for (const FieldInfo& field : arguments_of(op))
    function->field_names->push_back(PyUnicode_InternFromString(field.name));
  return reinterpret_cast<PyObject*>(function);
}

}  // namespace headrace::python
