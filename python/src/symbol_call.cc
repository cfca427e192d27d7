// Calls of operators on symbols. What is sorted here is put together in Python, where names are given out and values
// become the texts of files.

#include "arguments.h"
#include "convert.h"
#include "graph/labels.h"
#include "op/thread_state.h"
#include "op_function.h"
#include "ufunc_keywords.h"

namespace headrace::python {
namespace {

struct Symbols {
  PyTypeObject* symbol_class = nullptr;
  PyObject* compose = nullptr;
};
Symbols& symbols() {
  static constinit Symbols instance;
  return instance;
}

// Whether a keyword is a text of the node, or was one of a variable: "lr_mult", "weight_lr_mult".
bool is_about_nodes(const std::string& key) {
  const size_t end = key.find('_');
  const std::string rest = end == std::string::npos ? "" : key.substr(end + 1);
  return is_node_attr(key) || stored_key(key) != key || stored_key(rest) != rest;
}

class SymbolCall : public Arguments<SymbolCall> {
 public:
  explicit SymbolCall(const OpFunction& function)
      : Arguments(function), attributes_(checked(PyDict_New())), named_(checked(PyDict_New())) {}

  // An array is none, but is said to be so by its place.
  static bool is_operand(PyObject* object) { return is_symbol(object) || is_array(object); }

  void set_field(const FieldInfo& field, PyObject* value) {
    if (value == Py_None && !field.nullable) return;
    if (PyDict_SetItemString(attributes_.get(), field.name, value) < 0) throw PythonError();
  }

  // The name of the node and texts for it; an input of a variadic operator, by the name of its variable.
  void other_keyword(PyObject* key, PyObject* value) {
    if (PyUnicode_Compare(key, words().name) == 0) {
      name_ = value;
    } else if (PyUnicode_Compare(key, words().attr) == 0) {
      attr_ = value;
    } else if (op_.open && !is_symbol(value)) {
      const Ref text(checked(PyObject_Str(value)));
      if (PyDict_SetItem(attributes_.get(), key, text.get()) < 0) throw PythonError();
    } else if (!f_.np && op_.schema->fields.empty() && !is_symbol(value) && !is_about_nodes(utf8(key))) {
      return;  // as in MXNet, where nothing reads attributes of such operators
    } else if (is_symbol(value) && !op_.variadic && op_.schema->fields.empty()) {
      fail(ErrorKind::kRuntime, "{}: keyword argument name {} not found; the arguments are {}name, attr", name(),
           utf8(key), known_arguments());
    } else if (value != Py_None && !(f_.np && is_ufunc_default(op_, name(), key, value))) {
      PyObject* const target = op_.variadic && is_symbol(value) ? named_.get() : attributes_.get();
      if (PyDict_SetItem(target, key, value) < 0) throw PythonError();
    }
  }

  bool take_behind(size_t place, PyObject* value) {
    if (place == 0 && value != Py_None && !PyUnicode_Check(value)) return false;
    if (place == 0) name_ = value;
    if (place == 1) attr_ = value;
    return place < 3;  // name, attr, out
  }

  PyObject* run() {
    if (is_pair_with_number()) {
      const bool number_is_right = is_symbol(operands_[0]);
      PyObject* const number = operands_[number_is_right ? 1 : 0];
      if (as_number(number)) {
        if (!number_is_right) operands_[0] = operands_[1];
        operands_.resize(1, nullptr);
        return compose(number_is_right ? *f_.forms.right : *f_.forms.left, number);
      }
    }
    count_named();
    return compose(op_, Py_None);
  }

 private:
  PyObject* compose(const OpDef& op, PyObject* number) {
    check(symbols().compose != nullptr, ErrorKind::kRuntime, "{}: headrace.symbol has not been imported", name());
    return PyObject_CallFunction(symbols().compose, "sOOOOOOOO", op.name.c_str(), f_.name, inputs().get(),
                                 attributes_.get(), named_.get(), number, f_.np ? Py_True : Py_False, name_, attr_);
  }

  // A list of symbols, and None for what becomes a variable.
  Ref inputs() {
    while (!operands_.empty() && !operands_.back()) operands_.pop_back();
    Ref list(checked(PyList_New(0)));
    for (PyObject* operand : operands_) append(list.get(), operand ? operand : Py_None);
    return list;
  }

  void append(PyObject* list, PyObject* operand) const {
    check(operand == Py_None || is_symbol(operand), ErrorKind::kType,
          "{}: inputs must be symbols, got {}; arrays become part of a graph as variables", name(),
          Py_TYPE(operand)->tp_name);
    const bool has_parts = op_.variadic && operand != Py_None && PyObject_Size(operand) > 1;
    const Ref parts(has_parts ? checked(PySequence_Fast(operand, "")) : nullptr);
    const int failed =
        has_parts ? PyList_SetSlice(list, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, parts.get()) : PyList_Append(list, operand);
    if (failed) throw PythonError();
  }

  void count_named() {
    const Py_ssize_t named = PyDict_GET_SIZE(named_.get());
    if (named == 0 || !op_.schema->find("num_args")) return;
    const Ref count(checked(PyLong_FromSsize_t(static_cast<Py_ssize_t>(operands_.size()) + named)));
    const Ref key(checked(PyUnicode_FromString("num_args")));
    if (!PyDict_SetDefault(attributes_.get(), key.get(), count.get())) throw PythonError();
  }

  Ref attributes_, named_;
  PyObject* name_ = Py_None;  // borrowed
  PyObject* attr_ = Py_None;
};

// What is seen at a glance to be neither an array nor a symbol, or to be an array.
bool is_plain(PyTypeObject* type) {
  return type == classes().np || type == classes().nd || type == Py_TYPE(Py_None) || type == &PyLong_Type ||
         type == &PyFloat_Type || type == &PyBool_Type || type == &PyUnicode_Type;
}

bool holds_symbol(PyObject* object) {
  if (is_plain(Py_TYPE(object))) return false;
  if (!PyList_Check(object) && !PyTuple_Check(object)) return is_symbol(object);
  return PySequence_Fast_GET_SIZE(object) > 0 && is_symbol(PySequence_Fast_GET_ITEM(object, 0));
}

bool holds_array(PyObject* object) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) return is_array(object);
  return PySequence_Fast_GET_SIZE(object) > 0 && is_array(PySequence_Fast_GET_ITEM(object, 0));
}

}  // namespace

void set_symbols(PyTypeObject* symbol_class, PyObject* compose) {
  symbols().symbol_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(symbol_class)));
  symbols().compose = Py_NewRef(compose);
}

bool is_symbol(PyObject* object) {
  return symbols().symbol_class && PyObject_TypeCheck(object, symbols().symbol_class);
}

bool composes(const OpFunction& function, PyObject* const* arguments, size_t total) {
  if (function.symbolic || std::any_of(arguments, arguments + total, holds_symbol)) return true;
  return thread_state().composing && std::none_of(arguments, arguments + total, holds_array);
}

PyObject* call_on_symbols(const OpFunction& function, PyObject* const* arguments, size_t count, PyObject* keywords) {
  SymbolCall call(function);
  call.take(arguments, count, keywords);
  return call.run();
}

}  // namespace headrace::python
