// autograd.record() and its relatives: context managers for the recording and training flags, as a hand-written type,
// because every training step enters one.
#pragma once

#include <Python.h>

namespace headrace::python {

// Adds record, pause, train_mode and predict_mode to the module. False: a Python error is set.
bool add_scopes(PyObject* module);

}  // namespace headrace::python
