// The Python array type: one hand-written type under both nd.NDArray and np.ndarray, because issuing a tiny operation
// must cost less than a generic binding's argument handling. All functions here need the GIL.
#pragma once

#include <Python.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gil.h"
#include "headrace/error.hpp"
#include "headrace/ndarray.hpp"

namespace headrace::python {

struct PyArray {
  PyObject_HEAD NDArray array;
  PyObject* grad;  // the array object of the gradient buffer, or null
  PyObject* weakrefs;
};

// The classes of the two front ends, each set once, by headrace/ndarray and headrace/numpy.
struct Classes {
  PyTypeObject* base = nullptr;
  PyTypeObject* nd = nullptr;
  PyTypeObject* np = nullptr;
  PyTypeObject* sparse[3] = {};  // by StorageKind; of nd alone
};
inline Classes& classes() {
  static constinit Classes instance;
  return instance;
}

inline bool is_array(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == classes().np || type == classes().nd) return true;
  // Objects of a derived class are no smaller: numbers are told apart without a search among the bases.
  return type->tp_basicsize >= static_cast<Py_ssize_t>(sizeof(PyArray)) && PyType_IsSubtype(type, classes().base);
}
inline NDArray& array_of(PyObject* object) { return reinterpret_cast<PyArray*>(object)->array; }
inline bool is_np(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == classes().np) return true;
  return type != classes().nd && classes().np && PyType_IsSubtype(type, classes().np);
}

// Makes `type` the class of results: its objects come from a list of used ones.
void adopt_class(PyTypeObject* type);

// A new reference to a new array object of the np or nd class, or of that of its storage.
PyObject* wrap(NDArray array, bool np);

// Waits without holding the GIL, looking for signals in between. False: a Python error is set.
bool wait_to_read(const NDArray& array);
// The same until nothing is queued that reads the array either.
bool wait_to_write(const NDArray& array);

// Python error from the C++ exception being handled; returns null for convenience.
PyObject* set_error() noexcept;
// A new reference to the text of an error, which may show bytes of others that are no UTF-8.
PyObject* readable(const char* text);
// Python error of the kind that `kind` maps to.
void raise_error(ErrorKind kind, const char* text);

// Runs `body` and turns what it throws into a Python error and a null result.
template <class F>
PyObject* guarded(F&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return set_error();
  }
}

// A reference that is dropped at the end of the scope.
class Ref {
 public:
  explicit Ref(PyObject* object = nullptr) noexcept : object_(object) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_;
};

// Takes a new reference, under the GIL, for holders that let go of it in any thread.
inline std::shared_ptr<PyObject> shared_reference(PyObject* object) {
  return {Py_NewRef(object),
          [](PyObject* held) { free_with_gil(held, [](void* last) { Py_DECREF(static_cast<PyObject*>(last)); }); }};
}

// An error of the library for one that Python code raised, which becomes its cause. Made under the GIL.
class CausedError final : public Error {
 public:
  CausedError(ErrorKind kind, const std::string& message, PyObject* cause)
      : Error(kind, message), cause_(shared_reference(cause)) {}
  PyObject* cause() const noexcept { return cause_.get(); }

 private:
  std::shared_ptr<PyObject> cause_;
};

// Thrown when a Python error is already set.
struct PythonError {};
inline PyObject* checked(PyObject* object) {
  if (!object) throw PythonError();
  return object;
}

// The bytes of a str, which owns them. UnicodeEncodeError: it holds a lone surrogate.
inline const char* utf8(PyObject* text) {
  const char* const bytes = PyUnicode_AsUTF8(text);
  if (!bytes) throw PythonError();
  return bytes;
}

// A module of Python, or a name of one, imported when it is first asked for and kept: `static constinit Imported`.
// Under the GIL. A static variable that its declaration initialises would not do: who waits for that holds the GIL,
// which the thread that initialises it gives up while it imports.
class Imported {
 public:
  constexpr explicit Imported(const char* module, const char* name = nullptr) : module_(module), name_(name) {}
  // Borrowed. Throws PythonError.
  PyObject* get() {
    if (!object_) load();
    return object_;
  }

 private:
  void load() {
    Ref module(checked(PyImport_ImportModule(module_)));
    Ref found(name_ ? checked(PyObject_GetAttrString(module.get(), name_)) : module.release());
    if (!object_) object_ = found.release();  // another thread may have been first
  }

  const char *module_, *name_;
  PyObject* object_ = nullptr;
};

// Parts of the type that live in files of their own.
PyObject* array_subscript(PyObject* self, PyObject* key);
int array_assign_subscript(PyObject* self, PyObject* key, PyObject* value);
extern PyNumberMethods number_methods;
PyObject* array_richcompare(PyObject* a, PyObject* b, int operation);
extern PyMethodDef array_methods[];
extern PyGetSetDef array_properties[];
int array_get_buffer(PyObject* self, Py_buffer* view, int flags);
void array_release_buffer(PyObject* self, Py_buffer* view);

PyTypeObject* make_array_type();

}  // namespace headrace::python
