// DLPack capsules: sharing memory of the host and of GPUs with other libraries, both ways. The structures follow the
// DLPack 0.x ABI.
#pragma once

#include <Python.h>

#include "headrace/ndarray.hpp"

namespace headrace::python {

// DLPack's numbers for the place of an array: those of the host's memory also where no other library reaches it.
struct DlDevice {
  int32_t type, id;
};
DlDevice dlpack_device(Device device);
// A capsule named "dltensor" that keeps the storage alive. Waits for pending writes, so the consumer need not order its
// streams; when it lets go of memory of a GPU, waits for what it has put on the GPU before.
PyObject* to_dlpack(const NDArray& array);
// Takes the capsule over and renames it "used_dltensor"; raises for a used capsule, a device or a type unknown here.
// Waits for what has been put on a GPU before, on any stream.
NDArray from_dlpack(PyObject* capsule);

}  // namespace headrace::python
