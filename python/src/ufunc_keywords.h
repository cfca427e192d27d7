// The keywords that NumPy's ufuncs have and that operators take as NumPy's defaults only.
#pragma once

#include <Python.h>

#include "op/op_def.h"

namespace headrace::python {

// Whether `key` is such a keyword of the np function of `op`, a function of one or two operands alone. Raises
// NotImplementedError for a value that NumPy takes but that is not its default, TypeError for one that it does not
// take.
bool is_ufunc_default(const OpDef& op, const char* name, PyObject* key, PyObject* value);

}  // namespace headrace::python
