// The chain of a Var: the accesses that are not over, in the order they were pushed, newest at Var::tail_. There is no
// lock. An access is a state machine of flags; every change is one fetch_or, and the thread whose change completes a
// condition does what follows from it, so each consequence happens exactly once. (The discrete dependency system of
// Nanos6, arXiv 2105.07902, works the same way.)
//
//   kReadOk     every earlier exclusive access is over
//   kWriteOk    every earlier access is over
//   kLinked     `successor` is set (kNextShared: and it is not exclusive)
//   kDone       the task has run
//   kPassed     the access has passed kReadOk on, ahead of its end
//   kOverrun    the access ended as the last of its chain, but a successor was just being linked
//
// A shared access is satisfied by kReadOk, an exclusive one by both. A satisfied shared access passes kReadOk to a
// shared successor at once and then sets kPassed on itself. An access with kDone and kWriteOk is over: it passes both
// to its successor or, when it is the last, takes itself off the tail; then it leaves the chain.
//
// Invariants
// 1. Registrations on one Var never overlap: they are made by the only pushing thread, or under the fair lock.
// 2. Nobody touches an access that has left its chain, so its task may be freed. Whoever changes a flag touches the
//    access afterwards only for a consequence that is his, and an access does not leave before these have happened:
//    not before kLinked when a successor is being linked (kOverrun tells who of the two comes second), not before
//    kPassed when kReadOk is being passed, and not before its task has run, hence not before it was satisfied.
// 3. A Var is touched only by a thread that holds the body of a task that accesses it.
#pragma once

#include "base/function_ref.h"
#include "engine/task.h"

namespace headrace {

// What became possible while accesses were registered or completed.
struct ChainEvents {
  TaskList ready;           // tasks whose last wait ended
  Task* current = nullptr;  // the task whose accesses are being completed, if any
  int left = 0;             // accesses of `current` that left their chains; the caller drops these reasons
};

// Appends the accesses of a task to their chains. Returns true when none has to wait; if not, the task appears among
// the ready ones of whoever completes the last access it waits for. Callers keep invariant 1.
bool register_accesses(Task& task) noexcept;

// Calls `found` for accesses of other tasks that wait for nothing but tasks of the group: each of these is about to run
// in the calling thread, and none waits for a task outside. They appear once each, and are looked for near the front of
// the chains alone. A chain in which a thread waits is left as it is: what is waited for is not to be held up.
void visit_followers(std::span<Task* const> group, FunctionRef<void(Task&)> found) noexcept;

// Marks the accesses of `task` done. The caller holds the reason "run" of the task.
void complete_accesses(Task& task, ChainEvents& events) noexcept;

}  // namespace headrace
