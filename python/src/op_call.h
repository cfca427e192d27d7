// Operators on arrays from Python, as callables and Python's own operators need them.
#pragma once

#include <Python.h>

#include "headrace/ndarray.hpp"
#include "op/op_def.h"

namespace headrace::python {

// `result` as a new array object, or put into `out`, which is returned.
PyObject* finish(NDArray result, bool np, PyObject* out);

// An operator on two arrays in one front end, and what stands for it when one operand is a number.
struct PairForms {
  const OpDef* both = nullptr;
  const OpDef* right = nullptr;  // array OP number
  const OpDef* left = nullptr;   // number OP array
  bool np = false;
};

// a OP b where at least one is an array and the other an array or a number; NotImplemented for other operands.
PyObject* call_binary(const PairForms& forms, PyObject* a, PyObject* b, PyObject* out);

}  // namespace headrace::python
