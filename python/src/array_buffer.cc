// The buffer protocol: memoryview(array) and numpy.asarray(array) see the array's own memory.

#include "array.h"
#include "base/check.h"
#include "convert.h"
#include "ndarray/view.h"

namespace headrace::python {
namespace {

// Shape and byte strides that a Py_buffer points into, and the view that keeps the memory alive.
struct ExportedBuffer {
  ViewPtr view;
  std::vector<Py_ssize_t> shape, strides;
};

bool asks_for(int flags, int what) { return (flags & what) == what; }

// The first axis varies fastest.
bool is_column_major(const NDArray& array) {
  int64_t step = 1;
  for (size_t i = 0; i < array.ndim(); ++i) {
    if (array.shape()[i] != 1 && array.strides()[i] != step) return false;
    step *= array.shape()[i];
  }
  return true;
}

bool fits(const NDArray& array, int flags) {
  const bool rows = array.is_contiguous(), columns = array.size() == 0 || is_column_major(array);
  if (asks_for(flags, PyBUF_C_CONTIGUOUS) || !asks_for(flags, PyBUF_STRIDES)) return rows;
  if (asks_for(flags, PyBUF_F_CONTIGUOUS)) return columns;
  return rows || columns || !asks_for(flags, PyBUF_ANY_CONTIGUOUS);
}

}  // namespace

int array_get_buffer(PyObject* self, Py_buffer* buffer, int flags) {
  Ref done(guarded([&]() -> PyObject* {
    const NDArray& array = array_of(self);
    const char* format = buffer_format(array.dtype());
    check(format != nullptr, ErrorKind::kType, "buffer: Python has no buffer format for {}; convert with astype first",
          dtype_name(array.dtype()));
    if (!fits(array, flags)) {
      PyErr_SetString(PyExc_BufferError,
                      "buffer: the array's elements do not lie in memory one behind the other in the order that is "
                      "asked for; take a copy() for a consumer that needs them so");
      throw PythonError();
    }
    storage_of(*array.view(), "buffer").expose();
    if (!wait_to_write(array)) throw PythonError();  // the consumer may write
    void* const data = array.view()->data();
    auto* exported = new ExportedBuffer{array.view(), {}, {}};
    auto size = static_cast<Py_ssize_t>(item_size(array.dtype()));
    for (size_t i = 0; i < array.ndim(); ++i) {
      exported->shape.push_back(static_cast<Py_ssize_t>(array.shape()[i]));
      exported->strides.push_back(static_cast<Py_ssize_t>(array.strides()[i]) * size);
    }
    buffer->obj = Py_NewRef(self);
    buffer->buf = data;
    buffer->len = static_cast<Py_ssize_t>(array.size()) * size;
    buffer->readonly = 0;
    buffer->itemsize = size;
    buffer->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
    buffer->ndim = static_cast<int>(array.ndim());
    buffer->shape = (flags & PyBUF_ND) ? exported->shape.data() : nullptr;
    buffer->strides = asks_for(flags, PyBUF_STRIDES) ? exported->strides.data() : nullptr;
    buffer->suboffsets = nullptr;
    buffer->internal = exported;
    Py_RETURN_NONE;
  }));
  if (done) return 0;
  buffer->obj = nullptr;
  return -1;
}

void array_release_buffer(PyObject*, Py_buffer* buffer) { delete static_cast<ExportedBuffer*>(buffer->internal); }

}  // namespace headrace::python
