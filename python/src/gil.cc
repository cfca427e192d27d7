#include "gil.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/config.h"
#include "device/stream.h"

namespace headrace::python {

void stop_ended_thread() noexcept {
  for (;;) pause();
}

namespace {

// Stops the thread if f() would end it.
template <class F>
auto or_stop(F&& f) {
  try {
    return f();
  } catch (...) {
    stop_ended_thread();
  }
}

struct Due {
  void* object;
  void (*free)(void*);
  Due* next;
};

std::atomic<Due*> due{nullptr};
std::atomic<bool> is_pending{false};  // the interpreter has been asked to call free_what_is_due()

// What a task holds is let go of where its end is noted. Where kernels run on a device there is no thread for it.
void expect_no_device_code() noexcept {
  if (is_launching() || !config().sim_strict) return;
  std::fputs("headrace: device code let go of the last reference to a Python object; the task must hold it\n", stderr);
  std::abort();
}

int run_pending(void*) {
  free_what_is_due();
  return 0;
}

}  // namespace

WithoutGil::~WithoutGil() {
  or_stop([&] { PyEval_RestoreThread(state_); });
}

WithGil::~WithGil() {
  if (!PyGILState_Check()) stop_ended_thread();
  PyGILState_Release(state_);
}

WithGil::WithGil() : state_(or_stop([] { return PyGILState_Ensure(); })) {}

void free_with_gil(void* object, void (*free)(void*)) noexcept {
  if (current_stream()) [[unlikely]]
    expect_no_device_code();
  if (!Py_IsInitialized()) return;
  if (PyGILState_Check()) return or_stop([&] { free(object); });  // which may run Python code
  Due* const mine = new Due{object, free, due.load(std::memory_order_relaxed)};
  while (!due.compare_exchange_weak(mine->next, mine, std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  // The interpreter's list of calls may be full: then the next one asks again.
  if (!is_pending.exchange(true, std::memory_order_acq_rel) && Py_AddPendingCall(run_pending, nullptr) != 0)
    is_pending.store(false, std::memory_order_release);
}

void free_what_is_due() noexcept {
  is_pending.store(false, std::memory_order_release);
  if (!due.load(std::memory_order_relaxed)) return;
  PyObject *type, *value, *traceback;  // of an error that is on its way, which finalizers must not see
  PyErr_Fetch(&type, &value, &traceback);
  for (Due* list = due.exchange(nullptr, std::memory_order_acq_rel); list;) {
    or_stop([&] { list->free(list->object); });
    Due* const done = list;
    list = list->next;
    delete done;
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace headrace::python
