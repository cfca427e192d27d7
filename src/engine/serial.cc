#include "engine/serial.h"

#include <new>

#include "base/clock.h"
#include "engine/var_access.h"
#include "timeline/timeline.h"

namespace headrace {

bool SerialEngine::begin(const TaskSpec& spec, InlineFrame& frame) {
  running_.lock();
  frame.spec = &spec;
  for (const Var* var : spec.reads) {
    const FailurePtr failure = VarAccess::failure(*var);
    if (!failure) continue;
    VarAccess::set_outcome(spec, failure, kept_);
    running_.unlock();
    return false;
  }
  if (timeline::enabled()) frame.start = ticks();
  return true;
}

void SerialEngine::end(InlineFrame& frame, const std::exception_ptr& error) noexcept {
  if (frame.start) timeline::record(frame.spec->name, frame.start, ticks());
  FailurePtr failure;
  if (error) {
    failure = FailurePtr(new Failure(error, frame.spec->name));
    failures_.add(failure);
  }
  VarAccess::set_outcome(*frame.spec, failure, kept_);
  running_.unlock();
}

void SerialEngine::raise_kept() {
  std::lock_guard guard(running_);
  kept_.raise_first();
}

void SerialEngine::wait(Var& var) {
  if (const FailurePtr failure = VarAccess::failure(var)) failure->raise();
}

void SerialEngine::wait_all() {
  std::lock_guard guard(running_);
  failures_.raise_first();
}

void SerialEngine::lock_for_fork() noexcept {
  running_.lock();
  failures_.lock_for_fork();
  kept_.lock_for_fork();
}

void SerialEngine::after_fork(bool in_child) noexcept {
  kept_.unlock_after_fork();
  failures_.unlock_after_fork();
  if (!in_child) return running_.unlock();
  new (&running_) std::recursive_mutex();  // it belongs to a thread whose number is another one here
  failures_.clear();                       // the parent reports them
  kept_.clear();
}

}  // namespace headrace
