// The GIL: given up for a while and taken back, taken by threads that may not hold it, and what must be done under it
// by somebody, some time.
//
// Before Python 3.14 a thread that asks for the GIL while the interpreter ends is ended inside the asking, by unwinding
// its stack. Nothing of ours may be unwound like that: destructors and the engine's threads would end the process with
// it. Such a thread stops where it is instead, as it does since Python 3.14, until the process is gone.
#pragma once

#include <Python.h>

namespace headrace::python {

// The thread lets others run Python code until the end of the scope. It holds no lock that they may want.
class WithoutGil {
 public:
  WithoutGil() noexcept : state_(PyEval_SaveThread()) {}
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// The thread may run Python code until the end of the scope, whether it held the GIL before or not. A thread that is
// ended meanwhile stops at the end of the scope.
class WithGil {
 public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// For a handler of exceptions that are none of ours: where Python code was called, they are the unwinding of a thread
// that is ended, which must not leave the handler.
[[noreturn]] void stop_ended_thread() noexcept;

// The GIL for code of ours that calls Python code: makes its arguments and looks at what it returns. Before Python 3.14
// the interpreter may end a thread wherever Python code runs, by unwinding. Only call() runs any, and stops there,
// before destructors that want the GIL; the collector, which runs finalizers, rests otherwise.
class PythonCall {
 public:
  PythonCall() : collects_(PyGC_Disable()) {}
  ~PythonCall() {
    if (collects_) PyGC_Enable();
  }
  PythonCall(const PythonCall&) = delete;
  PythonCall& operator=(const PythonCall&) = delete;

  // callable(*arguments): a new reference, or null and an error is set.
  template <class... Arguments>
  PyObject* call(PyObject* callable, Arguments*... arguments) {
    if (collects_) PyGC_Enable();
    try {
      PyObject* const result = PyObject_CallFunctionObjArgs(callable, arguments..., nullptr);
      collects_ = PyGC_Disable();
      return result;
    } catch (...) {
      stop_ended_thread();
    }
  }

 private:
  const WithGil lock_;
  int collects_;  // whether the collector runs where Python code does
};

// Calls free(object) under the GIL: at once if this thread holds it, otherwise soon, in a thread that does. Never
// waits, so the engine's threads may let go of what belongs to Python. After the end of the interpreter nothing is
// freed.
void free_with_gil(void* object, void (*free)(void*)) noexcept;
// Frees what is due by now. Under the GIL: where memory is taken that free_with_gil() gives back later, so that no more
// piles up than there was at once.
void free_what_is_due() noexcept;

}  // namespace headrace::python
