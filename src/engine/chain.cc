#include "engine/chain.h"

namespace headrace {
namespace {

constexpr uint32_t kReadOk = 1, kWriteOk = 2, kLinked = 4, kNextReads = 8, kDone = 16, kOverrun = 32;
constexpr uint32_t kBothOk = kReadOk | kWriteOk, kOver = kDone | kWriteOk;

constexpr bool all(uint32_t flags, uint32_t wanted) { return (flags & wanted) == wanted; }

void end_wait(Task& task, ChainEvents& events) noexcept {
  // When one wait is left it is ours, and nobody else will look at the number again.
  if (task.waits.load(std::memory_order_acquire) == 1 || task.waits.fetch_sub(1, std::memory_order_acq_rel) == 1)
    events.ready.push(&task);
}

void leave(Access& access, ChainEvents& events) noexcept {
  if (access.task == events.current) ++events.left;
  else Task::drop(access.task, 1);
}

// The access is over and was the last when its flags changed. True: it left the chain. False: a successor is being
// linked; whoever comes second, linker or this thread, passes the flags on.
bool leave_as_last(Access& access) noexcept {
  Access* expected = &access;
  std::atomic<Access*>& tail = VarAccess::tail(*access.var);
  return tail.load(std::memory_order_relaxed) == &access &&
         tail.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel, std::memory_order_acquire);
}

// Adds flags to an access and then to its successors as far as they pass them on.
void deliver(Access* access, uint32_t flags, ChainEvents& events) noexcept {
  while (access) {
    const uint32_t before = access->flags.fetch_or(flags, std::memory_order_acq_rel);
    uint32_t now = before | flags;
    const uint32_t needed = access->exclusive ? kBothOk : kReadOk;
    if (all(now, needed) && !all(before, needed)) end_wait(*access->task, events);

    bool over = false;
    if (all(now, kOver) && !all(before, kOver)) {
      over = all(now, kLinked);
      if (!over) {
        if (leave_as_last(*access)) {
          leave(*access, events);
          return;
        }
        now = access->flags.fetch_or(kOverrun, std::memory_order_acq_rel) | kOverrun;
        over = all(now, kLinked);
      }
    } else {
      over = all(flags, kLinked) && all(now, kOver | kOverrun);
    }

    if (over) {
      Access* const successor = access->successor;
      leave(*access, events);
      access = successor;
      flags = kBothOk;
      continue;
    }
    const uint32_t shared_run = kReadOk | kLinked | kNextReads;
    const bool passes_read = !access->exclusive && all(now, shared_run) && !all(before, shared_run) && !all(now, kOver);
    if (!passes_read) return;
    access = access->successor;
    flags = kReadOk;
  }
}

}  // namespace

bool register_accesses(Task& task, ChainEvents& events) noexcept {
  // One more wait than accesses: the task cannot become ready elsewhere before the last line.
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
      deliver(previous, kLinked | (access.exclusive ? 0u : kNextReads), events);
    }
  }
  if (satisfied == count) return true;
  return task.waits.fetch_sub(satisfied + 1, std::memory_order_acq_rel) == satisfied + 1;
}

void complete_accesses(Task& task, ChainEvents& events) noexcept {
  events.current = &task;
  for (Access& access : task.accesses()) deliver(&access, kDone, events);
}

}  // namespace headrace
