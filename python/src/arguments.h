// Sorts the arguments of a Python call into operands, which are arrays or symbols, and attributes. How they are sorted
// is the same for both.
#pragma once

#include <Python.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "array.h"
#include "base/check.h"
#include "op_function.h"

namespace headrace::python {

// `Call` says what an operand is, and what becomes of an attribute and of other keywords:
//   static bool is_operand(PyObject*);
//   void set_field(const FieldInfo&, PyObject* value);
//   void other_keyword(PyObject* key, PyObject* value);
//   bool take_behind(size_t place, PyObject* value);  // what nd functions take behind all; false: nothing there
template <class Call>
class Arguments {
 public:
  explicit Arguments(const OpFunction& function) : f_(function), op_(*function.op) {
    if (!op_.variadic) operands_.resize(op_.inputs.size(), nullptr);
  }

  void take(PyObject* const* arguments, size_t count, PyObject* keywords) {
    positional(arguments, count);
    if (!keywords) return;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); ++i)
      keyword(PyTuple_GET_ITEM(keywords, i), arguments[count + static_cast<size_t>(i)]);
  }

 protected:
  const char* name() const { return op_.shown_name(); }

  const std::string& input_name(size_t i) const {
    const auto& names = f_.np && !op_.np_inputs.empty() ? op_.np_inputs : op_.inputs;
    return names[std::min(i, names.size() - 1)];
  }

  // Whether two operands are given where one of them may be a number, and one is.
  bool is_pair_with_number() const {
    return f_.forms.both && operands_.size() == 2 && operands_[0] && operands_[1] &&
           Call::is_operand(operands_[0]) != Call::is_operand(operands_[1]);
  }

  std::string known_arguments() const {
    std::string known;
    for (PyObject* one : *f_.input_names) known += std::string(utf8(one)) + ", ";
    for (PyObject* one : *f_.field_names) known += std::string(utf8(one)) + ", ";
    return known;
  }

  void set_out(PyObject* value) {
    if (value != Py_None) out_ = value;
  }

  const OpFunction& f_;
  const OpDef& op_;
  SmallVector<PyObject*, 8> operands_;  // borrowed; null: not given
  PyObject* out_ = nullptr;

 private:
  Call& call() { return static_cast<Call&>(*this); }

  void positional(PyObject* const* arguments, size_t count) {
    size_t used = 0;
    if (op_.variadic) {
      used = variadic(arguments, count);
    } else {
      for (; used < count && used < operands_.size(); ++used) {
        // An optional operand (a bias) may be left out and the attributes follow at once.
        const bool optional = used >= operands_.size() - op_.optional_inputs;
        if (optional && arguments[used] != Py_None && !Call::is_operand(arguments[used])) break;
        if (arguments[used] != Py_None) operands_[used] = arguments[used];
      }
    }
    const size_t fields = f_.field_names->size();
    bool out_has_passed = false;
    for (size_t field = 0, behind = 0; used < count; ++used) {
      while (field < fields && op_.schema->fields[field].counts_inputs) ++field;  // it follows from the call
      if (f_.np && !out_has_passed && is_place_of_out(field, arguments[used])) {
        set_out(arguments[used]);
        out_has_passed = true;
      } else if (field < fields) {
        call().set_field(op_.schema->fields[field++], arguments[used]);
      } else if (f_.np || !call().take_behind(behind++, arguments[used])) {
        fail(ErrorKind::kType, "{}: at most {} positional arguments are taken, got {}", name(),
             operands_.size() + fields, count);
      }
    }
  }

  // NumPy's reductions have `out` before keepdims and ddof, which are numbers, other functions behind all.
  bool is_place_of_out(size_t field, PyObject* value) const {
    if (value != Py_None && !Call::is_operand(value)) return false;
    if (field == f_.field_names->size()) return value == Py_None || is_array(value);
    const std::string_view next = op_.schema->fields[field].name;
    return next == "keepdims" || next == "ddof";
  }

  // Takes the operands of a variadic call; gives how many positional arguments they were.
  size_t variadic(PyObject* const* arguments, size_t count) {
    if (count > 0 && (op_.list_input || PyList_Check(arguments[0]) || PyTuple_Check(arguments[0]))) {
      take_sequence(arguments[0]);
      return 1;
    }
    size_t used = 0;
    for (; used < count && Call::is_operand(arguments[used]); ++used) operands_.push_back(arguments[used]);
    return used;
  }

  void take_sequence(PyObject* sequence) {
    held_.emplace_back(checked(PySequence_Fast(sequence, "a sequence of arrays is needed")));
    PyObject* items = held_.back().get();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i)
      operands_.push_back(PySequence_Fast_GET_ITEM(items, i));
  }

  // Inputs of an open operator have names that the program gives them.
  size_t named_inputs() const { return op_.open ? 0 : f_.input_names->size(); }

  void keyword(PyObject* key, PyObject* value) {
    for (size_t i = 0; i < f_.field_names->size(); ++i)
      if ((*f_.field_names)[i] == key) return call().set_field(op_.schema->fields[i], value);
    for (size_t i = 0; i < named_inputs(); ++i)
      if ((*f_.input_names)[i] == key) return set_input(i, value);
    if (key == words().out) return set_out(value);
    if (key == words().name || !keyword_by_text(key, value)) call().other_keyword(key, value);
  }

  // Of a keyword that is not interned, or another name of an input. False: it is unknown.
  bool keyword_by_text(PyObject* key, PyObject* value) {
    const char* text = utf8(key);
    if (const FieldInfo* field = op_.schema->find(text); field && !field->of_files) {
      call().set_field(*field, value);
      return true;
    }
    for (size_t i = 0; i < named_inputs(); ++i)
      if (PyUnicode_Compare((*f_.input_names)[i], key) == 0) {
        set_input(i, value);
        return true;
      }
    for (size_t i = 0; i < op_.inputs.size() && !op_.open; ++i)
      if (op_.inputs[i] == text) {
        set_input(i, value);
        return true;
      }
    if (PyUnicode_Compare(words().out, key) != 0) return false;
    set_out(value);
    return true;
  }

  void set_input(size_t i, PyObject* value) {
    if (op_.variadic) return take_sequence(value);
    check(operands_[i] == nullptr, ErrorKind::kType, "{}: argument '{}' is given twice", name(), input_name(i));
    if (value != Py_None) operands_[i] = value;
  }

  std::vector<Ref> held_;
};

}  // namespace headrace::python
