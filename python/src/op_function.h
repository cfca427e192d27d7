// The callable of an operator in Python, one object per name, with the operator's real signature. On arrays it runs the
// operator; where a symbol is among its arguments it gives a symbol, and so it does whatever they are while the thread
// composes, unless there are arrays, and where the callable is `symbolic`.
#pragma once

#include <Python.h>

#include <span>
#include <vector>

#include "op/op_def.h"
#include "op_call.h"

namespace headrace::python {

struct OpFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  const OpDef* op;
  PairForms forms;  // of an operator on two arrays for which a number may stand in
  bool np;
  bool copies;  // results never share the memory of an input
  bool symbolic;
  PyObject* name;
  PyObject* of_numbers;  // what takes a call with numbers alone; may be null
  PyObject* dict;
  std::vector<PyObject*>* input_names;  // interned
  std::vector<PyObject*>* field_names;
};

// Names of keywords of every operator, interned.
struct Words {
  PyObject *out, *name, *attr;
};
const Words& words();

inline std::span<const FieldInfo> arguments_of(const OpDef& op) {
  return std::span(op.schema->fields).first(op.schema->argument_count());
}

// A call with `count` positional arguments and those that `keywords`, a tuple of names or null, names. A new reference;
// null: a Python error is set. They may throw.
PyObject* call_on_arrays(const OpFunction& function, PyObject* const* arguments, size_t count, PyObject* keywords);
PyObject* call_on_symbols(const OpFunction& function, PyObject* const* arguments, size_t count, PyObject* keywords);

// The class of symbols, and what makes one: compose(op, hint, inputs, attributes, named, number, np, name, attr), where
// `named` are inputs by the names of variables, and `number` is the one beside the only input, or None.
void set_symbols(PyTypeObject* symbol_class, PyObject* compose);
bool is_symbol(PyObject* object);
// Whether a call is one on symbols, where no other callable than `function` decides it.
bool composes(const OpFunction& function, PyObject* const* arguments, size_t total);

// A callable for `op` under a name, with np semantics or without. With `copies` its results have memory of their own,
// also where the operator gives views, as those of MXNet's nd functions have.
PyObject* make_op_function(const OpDef& op, const char* name, bool np, bool copies);

// Prepares the type; once, when the module is loaded.
bool ready_op_function_type();

}  // namespace headrace::python
