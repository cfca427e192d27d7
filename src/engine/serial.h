// The serial engine: every task runs inside push(), in the order of the pushes. The oracle of the tests and the tool
// for debugging. Errors are kept and raised as in the threaded engine. One lock is held while a task runs, so a task
// may push and wait, but must not wait for another thread that pushes.
#pragma once

#include <mutex>

#include "engine/engine.h"
#include "engine/failure.h"

namespace headrace {

class SerialEngine {
 public:
  // False: the task must not run, because something that it reads is poisoned.
  bool begin(const TaskSpec& spec, InlineFrame& frame);
  void end(InlineFrame& frame, const std::exception_ptr& error) noexcept;
  void wait(Var& var);
  void wait_all();
  void raise_kept();
  FailureLog& failures() noexcept { return failures_; }
  // Around fork(): no other thread runs a task while the process is copied.
  void lock_for_fork() noexcept;
  void after_fork(bool in_child) noexcept;

 private:
  std::recursive_mutex running_;  // held from begin() to end()
  FailureLog failures_;
  FailureLog kept_;
};

}  // namespace headrace
