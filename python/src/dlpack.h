// DLPack capsules: sharing host memory with other libraries, both ways. The structures follow the DLPack 0.x ABI.
#pragma once

#include <Python.h>

#include "headrace/ndarray.hpp"

namespace headrace::python {

// A capsule named "dltensor" that keeps the storage alive. The caller has waited for pending writes.
PyObject* to_dlpack(const NDArray& array);
// Takes the capsule over and renames it "used_dltensor"; raises for a used capsule, a device or a type unknown here.
NDArray from_dlpack(PyObject* capsule);

}  // namespace headrace::python
