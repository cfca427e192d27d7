// One function per part of the extension module.
#pragma once

#include <nanobind/nanobind.h>

#include "array.h"
#include "base/interruption.h"
#include "gil.h"
#include "headrace/error.hpp"

namespace headrace::python {

void bind_arrays(nanobind::module_& m);
void bind_catalogue(nanobind::module_& m);
void bind_autograd(nanobind::module_& m);
void bind_engine(nanobind::module_& m);
void bind_profiler(nanobind::module_& m);
void bind_rtc(nanobind::module_& m);
void bind_random(nanobind::module_& m);
void bind_files(nanobind::module_& m);
void bind_images(nanobind::module_& m);
void bind_dlpack(nanobind::module_& m);
void bind_detours(nanobind::module_& m);
void bind_memory(nanobind::module_& m);
void bind_backward(nanobind::module_& m);
void bind_custom(nanobind::module_& m);
void bind_array_helpers(nanobind::module_& m);
void bind_sparse(nanobind::module_& m);
void bind_symbol(nanobind::module_& m);
void bind_graph_call(nanobind::module_& m);
void bind_updates(nanobind::module_& m);
void bind_plan(nanobind::module_& parent);
void bind_hardware(nanobind::module_& parent);
void bind_kvstore(nanobind::module_& parent);
void bind_distributed(nanobind::module_& parent);
void bind_sim(nanobind::module_& parent);

// Calls `body`, turning the library's errors into Python's.
template <class F>
auto translated(F&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const nanobind::python_error&) {
    throw;
  } catch (...) {
    set_error();
    throw nanobind::python_error();
  }
}

// Raises what handlers of signals raise, KeyboardInterrupt say. Without the GIL.
void handle_signals();

// The same without the GIL, for calls that may wait: for queued work, which may need it, or for other processes.
// Signals end such waits.
template <class F>
auto outside_python(F&& body) -> decltype(body()) {
  return translated([&] {
    const WithoutGil unlocked;
    const Interruptible interruptible(handle_signals);
    return body();
  });
}

// callable(*arguments).
template <class... Arguments>
nanobind::object called(PythonCall& python, nanobind::handle callable, const Arguments&... arguments) {
  PyObject* const result = python.call(callable.ptr(), arguments.ptr()...);
  if (!result) throw nanobind::python_error();
  return nanobind::steal(result);
}

inline nanobind::str python_text(std::string_view text) { return nanobind::str(text.data(), text.size()); }

inline const NDArray& array_from(nanobind::handle object) {
  if (!is_array(object.ptr())) {
    PyErr_Format(PyExc_TypeError, "an array is needed, got %s", Py_TYPE(object.ptr())->tp_name);
    throw nanobind::python_error();
  }
  return array_of(object.ptr());
}

// Arrays of a Python sequence; None gives a none array.
inline std::vector<NDArray> arrays_from(nanobind::handle sequence) {
  std::vector<NDArray> arrays;
  for (nanobind::handle item : sequence) arrays.push_back(item.is_none() ? NDArray() : array_from(item));
  return arrays;
}

// Whether backward has written the gradients of all variables since they were last used; says that they have been.
bool are_fresh(nanobind::handle variables);
void make_stale(nanobind::handle variables);

// Slots of a class that holds Python objects, so that cycles through them are found and freed: T has
// `int visit(visitproc, void*) const`, which visits them, and `void clear()`, which lets them go.
template <class T>
struct CollectorSlots {
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nanobind::inst_ready(self) ? nanobind::inst_ptr<T>(self)->visit(visit, arg) : 0;
  }
  static int clear(PyObject* self) {
    nanobind::inst_ptr<T>(self)->clear();
    return 0;
  }
  static inline PyType_Slot kAll[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};
};

inline nanobind::object wrapped(NDArray array, bool np) {
  PyObject* object = wrap(std::move(array), np);
  if (!object) throw nanobind::python_error();
  return nanobind::steal(object);
}

}  // namespace headrace::python
