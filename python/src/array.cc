#include "array.h"

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <cstring>

#include "base/check.h"
#include "base/interruption.h"
#include "convert.h"
#include "engine/runtime.h"
#include "engine/var_access.h"
#include "gil.h"
#include "headrace/error.hpp"
#include "ndarray/view.h"
#include "timeline/timeline.h"

namespace headrace::python {

namespace {

// The class of a front end; loads that of np, which programs with nd arrays alone do without.
PyTypeObject* class_of(bool np) {
  PyTypeObject*& type = np ? classes().np : classes().nd;
  if (type || !np) return type ? type : classes().base;
  const Ref module(PyImport_ImportModule("headrace.numpy"));
  return module ? type : nullptr;
}

}  // namespace

PyObject* wrap(NDArray array, bool np) {
  PyTypeObject* type = class_of(np);
  if (!type) return nullptr;
  if (array && !array.view()->is_plain() && array.storage_kind() != StorageKind::kDense) [[unlikely]]
    type = classes().sparse[static_cast<size_t>(array.storage_kind())];
  auto* object = reinterpret_cast<PyArray*>(type->tp_alloc(type, 0));
  if (!object) return nullptr;
  // Every array object has an array: what a file calls "none" is an empty one.
  new (&object->array) NDArray(array ? std::move(array) : NDArray::empty({0}));
  return reinterpret_cast<PyObject*>(object);
}

namespace {

// `for_all`: also for what reads it. False: a Python error is set.
bool wait_for(const NDArray& array, bool for_all) {
  Storage* storage = array.view() ? array.view()->storage() : nullptr;
  if (!storage) return true;
  Var& var = storage->var();
  Engine& engine = runtime().engine;
  constexpr auto kLimit = Interruptible::kBetweenChecks;
  try {
    if (var.idle() && !VarAccess::has_uses(var, for_all)) {
      if (!var.is_plain() || engine.observer()) for_all ? engine.wait_to_write(var) : engine.wait_to_read(var);
      return true;
    }
    timeline::Span span({for_all ? "wait_to_write" : "wait_to_read", timeline::kCall});
    const auto no_signal = [] {
      const WithGil locked;
      return PyErr_CheckSignals() == 0;
    };
    bool done = false;
    std::exception_ptr failure;
    try {
      const WithoutGil unlocked;
      done =
          for_all ? engine.wait_to_write_for(var, kLimit, no_signal) : engine.wait_to_read_for(var, kLimit, no_signal);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) std::rethrow_exception(failure);
    return done;
  } catch (...) {
    set_error();
    return false;
  }
}

}  // namespace

bool wait_to_read(const NDArray& array) { return wait_for(array, false); }
bool wait_to_write(const NDArray& array) { return wait_for(array, true); }

PyObject* readable(const char* text) {
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace");
}

void raise_error(ErrorKind kind, const char* text) {
  static PyObject* table = nullptr;  // headrace.base.error_types: tuple in the order of ErrorKind
  if (!table) {
    Ref module(PyImport_ImportModule("headrace.base"));
    if (!module) return;
    table = PyObject_GetAttrString(module.get(), "error_types");
    if (!table) return;
  }
  Ref message(readable(text));
  if (message) PyErr_SetObject(PyTuple_GetItem(table, static_cast<Py_ssize_t>(kind)), message.get());
}

namespace {

// Of the error that is set.
void set_cause(PyObject* cause) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value) PyException_SetCause(value, Py_NewRef(cause));
  PyErr_Restore(type, value, traceback);
}

void set_error_of_handled() {
  try {
    throw;
  } catch (const PythonError&) {
    // already set
  } catch (nanobind::python_error& error) {  // Python code that the library called, a custom backward step
    error.restore();
  } catch (const CausedError& error) {
    raise_error(error.kind(), error.what());
    set_cause(error.cause());
  } catch (const Error& error) {
    raise_error(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    raise_error(ErrorKind::kMemory, "the host has too little memory left; drop arrays that are no longer needed");
  } catch (const std::exception& error) {
    raise_error(ErrorKind::kRuntime, error.what());
  }
}

}  // namespace

PyObject* set_error() noexcept {
  try {
    set_error_of_handled();
  } catch (...) {
    stop_ended_thread();
  }
  return nullptr;
}

namespace {

PyObject* array_new(PyTypeObject* type, PyObject*, PyObject*) {
  auto* object = reinterpret_cast<PyArray*>(type->tp_alloc(type, 0));
  if (object) new (&object->array) NDArray(NDArray::empty({0}));
  return reinterpret_cast<PyObject*>(object);
}

void array_dealloc(PyObject* self) {
  auto* object = reinterpret_cast<PyArray*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (object->weakrefs) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object->grad);
  object->array.~NDArray();
  type->tp_free(self);
  Py_DECREF(type);
}

// Memory of array objects that are gone, for the next ones. Guarded by the GIL.
class UsedObjects {
 public:
  void* take() noexcept {
    if (!first_) return PyObject_Malloc(sizeof(PyArray));
    --count_;
    return std::exchange(first_, first_->next);
  }
  void give(void* memory) noexcept {
    if (count_ >= kMost) return PyObject_Free(memory);
    ++count_;
    first_ = new (memory) Used{first_};
  }

 private:
  static constexpr int kMost = 256;
  struct Used {
    Used* next;
  };
  Used* first_ = nullptr;
  int count_ = 0;
};

UsedObjects& used_objects() {
  static constinit UsedObjects instance;
  return instance;
}

PyObject* take_object(PyTypeObject* type, Py_ssize_t) {
  void* memory = used_objects().take();
  if (!memory) return PyErr_NoMemory();
  auto* object = static_cast<PyArray*>(memory);
  object->grad = object->weakrefs = nullptr;
  return PyObject_Init(reinterpret_cast<PyObject*>(object), type);
}

void give_object(void* object) { used_objects().give(object); }

Py_ssize_t array_length(PyObject* self) {
  const NDArray& array = array_of(self);
  if (array && array.ndim() > 0) return static_cast<Py_ssize_t>(array.shape()[0]);
  PyErr_SetString(is_np(self) ? PyExc_TypeError : PyExc_IndexError, "len() of unsized object");
  return -1;
}

PyObject* array_item(PyObject* self, Py_ssize_t i) {
  if (array_of(self).ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
    return nullptr;
  }
  if (i < 0 || i >= array_of(self).shape()[0]) {
    PyErr_SetString(PyExc_IndexError, "index out of bounds");
    return nullptr;
  }
  Ref key(PyLong_FromSsize_t(i));
  return array_subscript(self, key.get());
}

Py_hash_t array_hash(PyObject* self) {
  if (is_np(self)) {
    PyErr_SetString(PyExc_TypeError, "unhashable type: 'ndarray': arrays compare element by element");
    return -1;
  }
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4);
}

template <class F>
PyType_Slot slot(int id, F* function) {
  return {id, reinterpret_cast<void*>(function)};
}

}  // namespace

void adopt_class(PyTypeObject* type) {
#if !defined(Py_GIL_DISABLED)
  // Not for a class whose objects have more than an array has.
  if (type->tp_basicsize != sizeof(PyArray) || PyType_IS_GC(type)) return;
  type->tp_alloc = take_object;
  type->tp_free = give_object;
  type->tp_dealloc = array_dealloc;
#endif
}

PyTypeObject* make_array_type() {
  static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyArray, weakrefs), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  PyType_Slot slots[64];
  int n = 0;
  auto add = [&](int id, auto* function) { slots[n++] = slot(id, function); };
  add(Py_tp_new, array_new);
  add(Py_tp_dealloc, array_dealloc);
  add(Py_tp_hash, array_hash);
  add(Py_tp_richcompare, array_richcompare);
  add(Py_sq_length, array_length);
  add(Py_sq_item, array_item);
  add(Py_mp_length, array_length);
  add(Py_mp_subscript, array_subscript);
  add(Py_mp_ass_subscript, array_assign_subscript);
  add(Py_bf_getbuffer, array_get_buffer);
  add(Py_bf_releasebuffer, array_release_buffer);
  const PyNumberMethods& m = number_methods;
  add(Py_nb_add, m.nb_add);
  add(Py_nb_subtract, m.nb_subtract);
  add(Py_nb_multiply, m.nb_multiply);
  add(Py_nb_true_divide, m.nb_true_divide);
  add(Py_nb_remainder, m.nb_remainder);
  add(Py_nb_power, m.nb_power);
  add(Py_nb_matrix_multiply, m.nb_matrix_multiply);
  add(Py_nb_floor_divide, m.nb_floor_divide);
  add(Py_nb_and, m.nb_and);
  add(Py_nb_or, m.nb_or);
  add(Py_nb_xor, m.nb_xor);
  add(Py_nb_lshift, m.nb_lshift);
  add(Py_nb_rshift, m.nb_rshift);
  add(Py_nb_inplace_add, m.nb_inplace_add);
  add(Py_nb_inplace_subtract, m.nb_inplace_subtract);
  add(Py_nb_inplace_multiply, m.nb_inplace_multiply);
  add(Py_nb_inplace_true_divide, m.nb_inplace_true_divide);
  add(Py_nb_inplace_remainder, m.nb_inplace_remainder);
  add(Py_nb_inplace_and, m.nb_inplace_and);
  add(Py_nb_inplace_or, m.nb_inplace_or);
  add(Py_nb_inplace_xor, m.nb_inplace_xor);
  add(Py_nb_negative, m.nb_negative);
  add(Py_nb_positive, m.nb_positive);
  add(Py_nb_absolute, m.nb_absolute);
  add(Py_nb_invert, m.nb_invert);
  add(Py_nb_bool, m.nb_bool);
  add(Py_nb_int, m.nb_int);
  add(Py_nb_float, m.nb_float);
  add(Py_nb_index, m.nb_index);
  slots[n++] = {Py_tp_methods, array_methods};
  slots[n++] = {Py_tp_getset, array_properties};
  slots[n++] = {Py_tp_members, members};
  slots[n++] = {0, nullptr};
  static PyType_Spec spec = {"headrace._core.Array", sizeof(PyArray), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             nullptr};
  spec.slots = slots;
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

}  // namespace headrace::python
