#include "engine/serial.h"

#include "base/clock.h"
#include "engine/var_access.h"
#include "trace/trace.h"

namespace headrace {

bool SerialEngine::begin(const TaskSpec& spec, InlineFrame& frame) {
  running_.lock();
  frame.spec = &spec;
  for (const Var* var : spec.reads) {
    const FailurePtr failure = VarAccess::failure(*var);
    if (!failure) continue;
    set_outcome(spec, failure);
    running_.unlock();
    return false;
  }
  if (trace::enabled()) frame.start = ticks();
  return true;
}

void SerialEngine::end(InlineFrame& frame, const std::exception_ptr& error) noexcept {
  if (frame.start) trace::record(frame.spec->name, frame.start, ticks());
  FailurePtr failure;
  if (error) {
    failure = FailurePtr(new Failure(error, frame.spec->name));
    failures_.add(failure);
  }
  set_outcome(*frame.spec, failure);
  running_.unlock();
}

void SerialEngine::set_outcome(const TaskSpec& spec, const FailurePtr& failure) noexcept {
  if (failure && spec.keeps) return kept_.add(failure);
  for (Var* var : spec.writes) VarAccess::set_failure(*var, failure);
}

void SerialEngine::raise_kept() {
  std::lock_guard guard(running_);
  if (const FailurePtr failure = kept_.take_first()) failure->raise();
}

void SerialEngine::wait(Var& var) {
  if (const FailurePtr failure = VarAccess::failure(var)) failure->raise();
}

void SerialEngine::wait_all() {
  std::lock_guard guard(running_);
  if (const FailurePtr failure = failures_.take_first()) failure->raise();
}

}  // namespace headrace
