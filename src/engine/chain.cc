#include "engine/chain.h"

#include <algorithm>

#include "engine/var_access.h"

namespace headrace {
namespace {

constexpr uint32_t kReadOk = 1, kWriteOk = 2, kLinked = 4, kNextShared = 8, kDone = 16, kPassed = 32, kOverrun = 64;
constexpr uint32_t kBothOk = kReadOk | kWriteOk;
constexpr uint32_t kEnded = kDone | kWriteOk;
constexpr uint32_t kBeforeShared = kReadOk | kLinked | kNextShared;

constexpr bool has(uint32_t flags, uint32_t wanted) { return (flags & wanted) == wanted; }

// What the thread that changed the flags of an access has to do with the successor.
enum class Duty { kNothing, kPassRead, kPassBoth };

void end_wait(Task& task, ChainEvents& events) noexcept {
  // When one wait is left it is ours, and nobody else will look at the number again.
  if (task.waits.load(std::memory_order_acquire) == 1 || task.waits.fetch_sub(1, std::memory_order_acq_rel) == 1)
    events.ready.push(&task);
}

void leave(Access& access, ChainEvents& events) noexcept {
  if (access.task == events.current)
    ++events.left;
  else
    Task::drop(access.task, 1);
}

// The access has just ended. It is this thread's business, unless kReadOk is still being passed: then the passer goes
// on, and the access may be gone.
Duty end(Access& access, bool exclusive, uint32_t flags, ChainEvents& events) noexcept {
  if (has(flags, kLinked))
    return exclusive || !has(flags, kNextShared) || has(flags, kPassed) ? Duty::kPassBoth : Duty::kNothing;
  Access* expected = &access;
  std::atomic<Access*>& tail = VarAccess::tail(*access.var);
  if (tail.load(std::memory_order_relaxed) == &access &&
      tail.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel, std::memory_order_relaxed)) {
    leave(access, events);
    return Duty::kNothing;
  }
  const uint32_t before = access.flags.fetch_or(kOverrun, std::memory_order_acq_rel);
  return has(before, kLinked) ? Duty::kPassBoth : Duty::kNothing;
}

Duty change(Access& access, uint32_t flags, ChainEvents& events) noexcept {
  const bool exclusive = access.exclusive;  // afterwards the access may be gone
  const uint32_t before = access.flags.fetch_or(flags, std::memory_order_acq_rel);
  const uint32_t now = before | flags;
  const uint32_t needed = exclusive ? kBothOk : kReadOk;
  if (has(now, needed) && !has(before, needed)) end_wait(*access.task, events);
  if (has(now, kEnded)) {
    if (!has(before, kEnded)) return end(access, exclusive, now, events);
    // It ended before: the second of two, linker and ending thread, or passer and ending thread, goes on.
    return flags == kPassed || (has(flags, kLinked) && has(now, kOverrun)) ? Duty::kPassBoth : Duty::kNothing;
  }
  return !exclusive && has(now, kBeforeShared) && !has(before, kBeforeShared) ? Duty::kPassRead : Duty::kNothing;
}

// Changes the flags of an access and then of its successors as far as they pass something on.
void deliver(Access* access, uint32_t flags, ChainEvents& events) noexcept {
  Duty duty = change(*access, flags, events);
  while (duty != Duty::kNothing) {
    Access* const successor = access->successor;
    if (duty == Duty::kPassBoth) {
      leave(*access, events);
      duty = change(*successor, kBothOk, events);
    } else {
      duty = change(*successor, kReadOk, events);
      // As long as `access` stays, the successor does. If it leaves now, what it passes ends nothing that
      // `duty` has begun.
      if (change(*access, kPassed, events) == Duty::kPassBoth) {
        leave(*access, events);
        const Duty more = change(*successor, kBothOk, events);
        if (duty == Duty::kNothing) duty = more;
      }
    }
    access = successor;
  }
}

// Nothing behind an access that has not ended can leave its chain, so the walk from the front of a chain on is safe
// while the group has not run.
void visit_behind(const Access& front, std::span<Task* const> group, FunctionRef<void(Task&)> found) noexcept {
  constexpr int kFarthest = 16;
  bool is_written = front.exclusive, only_group = true;
  const Access* access = &front;
  for (int i = 0; i < kFarthest && has(access->flags.load(std::memory_order_acquire), kLinked); ++i) {
    access = access->successor;
    Task& task = *access->task;
    if (task.kind == Task::Kind::kWait) return;
    if (std::ranges::find(group, &task) != group.end()) {
      is_written |= access->exclusive;
    } else if (access->exclusive) {
      if (only_group) found(task);
      return;
    } else {
      only_group = false;
      if (is_written) found(task);
    }
  }
}

}  // namespace

bool register_accesses(Task& task) noexcept {
  // What an earlier access passes on ends at ours, and one more wait than accesses keeps the task from becoming ready
  // before the last line: so no task appears among these events.
  ChainEvents events;
  const int32_t count = static_cast<int32_t>(task.access_count);
  task.waits.store(count + 1, std::memory_order_relaxed);
  int32_t satisfied = 0;
  for (Access& access : task.accesses()) {
    Access* const previous = VarAccess::tail(*access.var).exchange(&access, std::memory_order_acq_rel);
    if (!previous) {
      access.flags.store(kBothOk, std::memory_order_relaxed);  // nobody can have linked a successor yet (invariant 1)
      ++satisfied;
    } else {
      previous->successor = &access;
      deliver(previous, kLinked | (access.exclusive ? 0u : kNextShared), events);
    }
  }
  if (satisfied == count) return true;
  return task.waits.fetch_sub(satisfied + 1, std::memory_order_acq_rel) == satisfied + 1;
}

void visit_followers(std::span<Task* const> group, FunctionRef<void(Task&)> found) noexcept {
  for (Task* task : group)
    for (const Access& access : task->accesses())
      if (has(access.flags.load(std::memory_order_acquire), kBothOk)) visit_behind(access, group, found);
}

void complete_accesses(Task& task, ChainEvents& events) noexcept {
  events.current = &task;
  for (Access& access : task.accesses()) deliver(&access, kDone, events);
}

}  // namespace headrace
