// Between Python objects and the library's values. All functions need the GIL; they throw headrace::Error, or
// PythonError when a Python error is already set.
#pragma once

#include <Python.h>

#include <optional>
#include <string_view>

#include "headrace/ndarray.hpp"
#include "op/attrs.h"
#include "op/node.h"
#include "op/op_def.h"

namespace headrace::python {

// int, float or bool, or a NumPy scalar of these; nullopt for anything else (strings and arrays too).
struct Number {
  double value;
  bool is_int;
};
std::optional<Number> as_number(PyObject* object);

Shape to_shape(PyObject* object, const char* what);
StorageKind to_storage_kind(PyObject* object);  // "default", "row_sparse", "csr"
GradReq to_grad_req(std::string_view word);     // "write", "add", "null"; KeyError: another one
DType to_dtype(PyObject* object);               // "float32", numpy.float32, numpy.dtype, float ...
PyObject* from_shape(const Shape& shape);       // a tuple
PyObject* numpy_dtype(DType dtype);             // borrowed
AttrValue to_attr_value(PyObject* object, const FieldInfo& field, const char* operation);
PyObject* from_attr_value(const AttrValue& value);
// What a kind of field is called in the catalogue, and in docstrings.
struct KindNames {
  const char *in_catalogue, *in_docstrings;
};
KindNames names_of(FieldKind kind);
AttrsPtr attrs_from(const OpDef& op, PyObject* dict);  // values by name, over the defaults

// An array from anything that NumPy makes an array of. `dtype`: what to convert to; nullopt keeps NumPy's choice.
NDArray from_object(PyObject* object, std::optional<DType> dtype);
// A packed copy as a NumPy array. Waits without the interpreter's lock, which a thread that completes tasks may need.
PyObject* to_numpy(const NDArray& array);
// The array, or a copy of it on `device`, if one of the two is an accelerator: for values that an operation mixes.
NDArray beside(NDArray array, Device device);
// The struct-module format of a dtype ("f", "q"); null where Python has none (bfloat16).
const char* buffer_format(DType dtype);

}  // namespace headrace::python
