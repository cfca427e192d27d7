#include "scope.h"

#include <utility>

#include "array.h"
#include "op/thread_state.h"

namespace headrace::python {
namespace {

// What a scope sets: 0 or 1; kKept: left as it is.
constexpr signed char kKept = -1;
struct Wanted {
  signed char recording = kKept, training = kKept, tracing = kKept, keeps_compositions = kKept, composing = kKept;
};

struct Flag {
  bool ThreadState::*in_state;
  signed char Wanted::*in_scope;
};
constexpr Flag kFlags[] = {{&ThreadState::recording, &Wanted::recording},
                           {&ThreadState::training, &Wanted::training},
                           {&ThreadState::tracing, &Wanted::tracing},
                           {&ThreadState::keeps_compositions, &Wanted::keeps_compositions},
                           {&ThreadState::composing, &Wanted::composing}};

// At its end only what it has set is what it was before: programs may have set the rest meanwhile.
struct Scope {
  PyObject_HEAD Wanted wanted;
  Wanted outer;
};

PyTypeObject* scope_type = nullptr;

PyObject* scope_enter(PyObject* self, PyObject*) {
  auto* scope = reinterpret_cast<Scope*>(self);
  for (const auto& [in_state, in_scope] : kFlags) {
    if (scope->wanted.*in_scope == kKept) continue;
    scope->outer.*in_scope = static_cast<signed char>(std::exchange(thread_state().*in_state, scope->wanted.*in_scope));
  }
  if (scope->wanted.recording == 1 && scope->outer.recording == 0) begin_tape();
  return Py_NewRef(self);
}

PyObject* scope_exit(PyObject* self, PyObject* const*, Py_ssize_t) {
  const auto* scope = reinterpret_cast<Scope*>(self);
  for (const auto& [in_state, in_scope] : kFlags)
    if (scope->wanted.*in_scope != kKept) thread_state().*in_state = scope->outer.*in_scope != 0;
  Py_RETURN_NONE;
}

PyObject* make_scope(Wanted wanted) {
  auto* scope = PyObject_New(Scope, scope_type);
  if (!scope) return nullptr;
  scope->wanted = wanted;
  return reinterpret_cast<PyObject*>(scope);
}

// The only argument, train_mode: True, False, or None for "as it is".
bool train_mode_argument(PyObject* const* arguments, Py_ssize_t count, PyObject* keywords, signed char* training) {
  Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  if (count + named > 1 ||
      (named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "train_mode") != 0)) {
    PyErr_SetString(PyExc_TypeError, "at most one argument is taken: train_mode (True, False or None)");
    return false;
  }
  if (count + named == 0) return true;
  int truth = arguments[0] == Py_None ? -1 : PyObject_IsTrue(arguments[0]);
  if (truth < 0 && arguments[0] != Py_None) return false;
  *training = static_cast<signed char>(truth);
  return true;
}

PyObject* record(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  signed char training = 1;
  return train_mode_argument(arguments, count, keywords, &training) ? make_scope({.recording = 1, .training = training})
                                                                    : nullptr;
}

PyObject* pause(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  signed char training = 0;
  return train_mode_argument(arguments, count, keywords, &training) ? make_scope({.recording = 0, .training = training})
                                                                    : nullptr;
}

PyObject* train_mode(PyObject*, PyObject*) { return make_scope({.training = 1}); }
PyObject* predict_mode(PyObject*, PyObject*) { return make_scope({.training = 0}); }

PyObject* tracing(PyObject*, PyObject*) { return make_scope({.tracing = 1, .keeps_compositions = 1}); }
PyObject* composing(PyObject*, PyObject*) { return make_scope({.composing = 1}); }

template <class F>
PyCFunction function(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef module_functions[] = {
    {"record", function(record), METH_FASTCALL | METH_KEYWORDS,
     "record(train_mode=True)\n--\n\nA block whose operations are recorded for backward; in training mode unless "
     "train_mode is False. None leaves the mode as it is."},
    {"pause", function(pause), METH_FASTCALL | METH_KEYWORDS,
     "pause(train_mode=False)\n--\n\nA block inside record() whose operations are not recorded."},
    {"train_mode", train_mode, METH_NOARGS,
     "train_mode()\n--\n\nA block in which dropout, batch normalisation and the like behave as in training."},
    {"predict_mode", predict_mode, METH_NOARGS,
     "predict_mode()\n--\n\nA block in which dropout, batch normalisation and the like behave as in inference."},
    {"tracing", tracing, METH_NOARGS,
     "tracing()\n--\n\nA block whose operations are linked into a graph, each call as one node, and not run."},
    {"composing", composing, METH_NOARGS,
     "composing()\n--\n\nA block in which calls of operators give symbols where they are given no arrays."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_scopes(PyObject* module) {
  static PyMethodDef methods[] = {{"__enter__", scope_enter, METH_NOARGS, nullptr},
                                  {"__exit__", function(scope_exit), METH_FASTCALL, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
  static PyType_Spec spec = {"headrace._core.Scope", sizeof(Scope), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  scope_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return scope_type && PyModule_AddFunctions(module, module_functions) == 0;
}

}  // namespace headrace::python
