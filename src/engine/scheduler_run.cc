// Running a task, completing its accesses and passing on what became ready.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/fence.h"
#include "base/machine.h"
#include "device/cores.h"
#include "device/shared_loop.h"
#include "engine/scheduler.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

// No other thread runs tasks or computes.
bool is_alone() noexcept { return !other_threads_run_tasks() && idle_cores() == core_count(); }

}  // namespace

FailurePtr Scheduler::fail(const std::exception_ptr& error, const char* name) noexcept {
  FailurePtr failure(new Failure(error, name));
  failures_.add(failure);
  return failure;
}

// Returns the successor that this thread should run next, or null.
Task* Scheduler::run(ThreadContext& context, Task* task, FunctionRef<bool(Task&)> may_continue) noexcept {
  // A long task must not hold up others that wait in this thread's batch.
  if (task->cost_ns >= wake_cost_ns() && !context.batch.empty()) flush(context);
  FailurePtr failure = task->failure_of_inputs();
  if (!failure && task->cost_ns >= Engine::kInlineCostNs && TaskGroup::can_begin_with(*task)) {
    TaskGroup group(*task);
    group.collect(horizon());
    if (group.tasks().size() > 1 && run_group(context, group)) return complete(context, group, may_continue);
  }
  if (!failure) [[likely]] {
    const uint64_t start = timeline::enabled() ? ticks() : 0;
    ++context.depth;
    try {
      const BusyThread busy(task->cost_ns);
      task->body_type->run(task->body);
    } catch (...) {
      failure = fail(std::current_exception(), task->name);
    }
    --context.depth;
    if (start) [[unlikely]]
      timeline::record(task->name, start, ticks(), task->origin);
    if (compute_.queue().empty() && shared_loops_lack_threads()) [[unlikely]]
      compute_.call_for_loops();
  }
  return complete(context, task, failure, may_continue);
}

// False: nothing was done, and the tasks have to run one by one.
bool Scheduler::run_group(ThreadContext& context, TaskGroup& group) noexcept {
  const uint64_t start = timeline::enabled() ? ticks() : 0;
  ++context.depth;
  const char* name = nullptr;
  try {
    const BusyThread busy;
    name = group.run();
  } catch (...) {  // the task that fails alone will tell
  }
  --context.depth;
  if (start && name) [[unlikely]]
    timeline::record(name, start, ticks(), group.tasks()[0]->origin);
  return name != nullptr;
}

Task* Scheduler::complete(ThreadContext& context, Task* task, const FailurePtr& failure,
                          FunctionRef<bool(Task&)> may_continue) noexcept {
  TaskList ready;
  finish(*task, failure, ready);
  return pass_on(context, 1, ready, may_continue);
}

Task* Scheduler::complete(ThreadContext& context, const TaskGroup& group,
                          FunctionRef<bool(Task&)> may_continue) noexcept {
  TaskList ready;
  std::span<Task* const> left = group.tasks();  // the others may be freed already
  while (!left.empty()) {
    TaskList from_one;
    finish(*left[0], nullptr, from_one);
    left = left.subspan(1);
    while (Task* task = from_one.pop())
      if (std::ranges::find(left, task) == left.end()) ready.push(task);
  }
  return pass_on(context, static_cast<int>(group.tasks().size()), ready, may_continue);
}

// Ends a task that has run, or was skipped: what became ready is appended to `ready`.
void Scheduler::finish(Task& task, const FailurePtr& failure, TaskList& ready) noexcept {
  const bool kept = failure && task.keeps;
  if (kept) kept_.add(failure);
  for (const Access& access : task.accesses())
    if (access.writes && !kept) VarAccess::set_failure(*access.var, failure);
  ChainEvents events;
  complete_accesses(task, events);
  if (!events.ready.empty()) reach_waits(events, ready);  // while the body keeps the Vars alive
  release(task, events.left + 1);
}

// Gives back what a task held that is over.
void Scheduler::release(Task& task, int reasons) noexcept {
  task.destroy_body();
  if (task.host_bytes) pending_bytes_.fetch_sub(task.host_bytes, std::memory_order_relaxed);
  Task::drop(&task, reasons);
}

// Counts `count` ended tasks and sends on what became ready through them.
Task* Scheduler::pass_on(ThreadContext& context, int count, TaskList& ready,
                         FunctionRef<bool(Task&)> may_continue) noexcept {
  context.completed.store(context.completed.load(std::memory_order_relaxed) + count, std::memory_order_release);
  light_fence();
  if (!compute_.queue().empty()) compute_.pass_on();  // the horizon has moved
  if (drained_.has_sleepers() || relaxed_.has_sleepers()) [[unlikely]]
    announce_progress();
  return ready.empty() ? nullptr : place(context, ready, may_continue);
}

// Tells the waiting threads among the ready tasks; what else is ready goes to `work`.
void Scheduler::reach_waits(ChainEvents& events, TaskList& work) noexcept {
  while (Task* task = events.ready.pop()) {
    if (task->kind == Task::Kind::kWork) {
      work.push(task);
      continue;
    }
    if (put_off(*task)) continue;
    task->failure = VarAccess::failure(*task->access_list[0].var);
    ChainEvents after;
    complete_accesses(*task, after);
    events.ready.append(after.ready);
    if (task->wait_state.exchange(Task::kReached, std::memory_order_acq_rel) == Task::kParked)
      futex_wake(task->wait_state, 1);
    Task::drop(task, after.left + 1);
  }
}

// Whether a ready task waits its turn although this thread could go on with it. A short one does not, for which what it
// reads is still in the cache. Else a chain of loops that use all cores would keep older tasks from beginning, and what
// these read in memory.
bool Scheduler::goes_behind(const Task& task) const noexcept {
  const ReadyQueue& queue = compute_.queue();
  if (queue.has_above(task.priority)) return true;
  return task.cost_ns >= wake_cost_ns() && queue.has_until(task.sequence - 1);
}

// Sends ready tasks where they will run; keeps the first of the highest priority for this thread if it may run it.
Task* Scheduler::place(ThreadContext& context, TaskList& ready, FunctionRef<bool(Task&)> may_continue) noexcept {
  const int64_t last = horizon();
  const auto may_run = [&](Task& task) { return task.sequence <= last && may_continue(task); };
  Task* next = nullptr;
  TaskList compute, blocking;
  double cost_ns = 0;
  while (Task* task = ready.pop()) {
    if (waits_for_streams(*task) && put_off(*task)) continue;
    if (task->stream) {
      device_queue(task->stream->accelerator()).enqueue(task);
      continue;
    }
    cost_ns += task->cost_ns;
    if (task->may_block) {
      blocking.push(task);
    } else if (!next && may_run(*task)) {
      next = task;
    } else if (next && task->priority < next->priority && may_run(*task)) {
      compute.push(next);
      next = task;
    } else {
      compute.push(task);
    }
  }
  if (next && goes_behind(*next)) {
    compute.push(next);
    next = nullptr;
  }
  if (!compute.empty()) {
    // What costs less than waking somebody waits for this thread, if it will look; who spins finds it anyway.
    if (context.runs_on && cost_ns < worth_waking_ns())
      context.batch.push_all(compute);
    else
      compute_.enqueue_all(compute);
  }
  blocking_.enqueue_all(blocking);
  return next;
}

void Scheduler::announce_progress() noexcept {
  const int64_t now_pending = pending();
  if (now_pending == 0) drained_.wake_all();
  if (now_pending <= max_pending_ / 2 && pending_bytes_.load(std::memory_order_relaxed) <= max_pending_bytes_ / 2)
    relaxed_.wake_all();
}

// Tasks pushed later than this do not begin yet: what is independent of all before it, a random batch of a later
// training step, would otherwise run as soon as it is pushed and hold memory until its turn comes. The oldest task that
// is not complete is always within the horizon. Once several threads have pushed, nothing is held back.
int64_t Scheduler::horizon() const noexcept {
  const ThreadContext* const owner = owner_.load(std::memory_order_acquire);
  if (!owner || lookahead_ == ReadyQueue::kNoHorizon || has_had_several_pushers_.load(std::memory_order_relaxed))
    return ReadyQueue::kNoHorizon;
  int64_t completed = 0, pushed_by_others = 0;
  threads_.visit([&](const ThreadContext& context) {
    completed += context.completed.load(std::memory_order_relaxed);
    if (&context != owner) pushed_by_others += context.pushed.load(std::memory_order_relaxed);
  });
  // What waits for accelerators holds no host task up.
  completed += device_tasks_.load(std::memory_order_relaxed);
  return completed - pushed_by_others + lookahead_;
}

// The horizon of a thread that looks for work. Where nobody else is at work nothing is held back, so that no slip in
// the counts can stop the engine. Where loops have all cores nothing begins beside them: the next task, too, is done
// sooner by all cores after them than by a part of one now.
int64_t Scheduler::horizon_to_take() const noexcept {
  if (loops_use_all_cores()) return ReadyQueue::kNothing;
  return is_alone() ? ReadyQueue::kNoHorizon : horizon();
}

// Even a thread that is alone looks everywhere for what is within the horizon first: older tasks may lie in the batch
// of the thread that pushes. It has to have been alone before that, too: who ended in between may have left something.
template <class Allowed>
Task* Scheduler::take(ThreadContext& context, const Allowed& allowed) noexcept {
  if (loops_use_all_cores()) return nullptr;
  const bool was_alone = is_alone();
  if (Task* task = take_until(horizon(), context, allowed)) return task;
  return was_alone && is_alone() ? take_until(ReadyQueue::kNoHorizon, context, allowed) : nullptr;
}

template <class Allowed>
Task* Scheduler::take_until(int64_t last, ThreadContext& context, const Allowed& allowed) noexcept {
  if (Task* task = compute_.queue().pop(allowed, last)) return task;
  if (Task* task = context.batch.pop(allowed, last)) return task;
  // Another thread's batch is taken as one.
  bool found = false;
  threads_.visit([&](ThreadContext& other) {
    if (&other != &context && !other.batch.empty()) found |= other.batch.move_to(compute_.queue()) > 0;
  });
  if (!found) return nullptr;
  Task* task = compute_.queue().pop(allowed, last);
  if (task)
    compute_.pass_on();
  else
    compute_.notify();  // held back, or not for this thread: somebody has to look for it
  return task;
}

Task* Scheduler::take_work(ThreadContext& context, WorkerGroup::Kind kind) noexcept {
  const auto any = [](Task&) { return true; };
  return kind == WorkerGroup::Kind::kCompute ? take(context, any) : blocking_.queue().pop(any);
}

Task* Scheduler::take_to_help(ThreadContext& context, FunctionRef<bool(Task&)> allowed) noexcept {
  return take(context, allowed);
}

bool Scheduler::is_visible(const ReadyQueue& queue) const noexcept {
  return !queue.empty() && queue.has_until(horizon_to_take());
}

bool Scheduler::work_handed_over(WorkerGroup::Kind kind) const noexcept {
  return kind == WorkerGroup::Kind::kBlocking ? !blocking_.queue().empty() : is_visible(compute_.queue());
}

bool Scheduler::work_visible(WorkerGroup::Kind kind) const noexcept {
  bool found = work_handed_over(kind);
  if (!found && kind == WorkerGroup::Kind::kCompute)
    threads_.visit([&](const ThreadContext& context) { found |= is_visible(context.batch); });
  return found;
}

bool Scheduler::work_held_back(WorkerGroup::Kind kind) const noexcept {
  if (kind == WorkerGroup::Kind::kBlocking) return false;
  bool found = !compute_.queue().empty();
  if (!found) threads_.visit([&](const ThreadContext& context) { found |= !context.batch.empty(); });
  return found;
}

ThreadContext& Scheduler::enter_worker(WorkerGroup& group, int number) {
  ThreadContext& context = threads_.current();
  context.group = &group;
  const bool computes = group.kind() == WorkerGroup::Kind::kCompute;
  timeline::name_thread(fmt::format("{} {}", computes ? "worker" : "blocking", number));
  return context;
}

// Runs a task and, one after the other, the successors that it makes ready; a thread for blocking tasks leaves those
// that are worth a hand-over to the compute threads.
void Scheduler::run_streak(ThreadContext& context, Task* task) noexcept {
  if (context.group->kind() == WorkerGroup::Kind::kBlocking) {
    while (task) task = run(context, task, [](Task& next) { return next.cost_ns < Engine::kInlineCostNs; });
    return;
  }
  run_on(context, task, [](Task&) { return true; });
}

void Scheduler::run_on(ThreadContext& context, Task* task, FunctionRef<bool(Task&)> may_continue) noexcept {
  const TaskThread at_work;
  const bool outer = std::exchange(context.runs_on, true);
  while (task) task = run(context, task, may_continue);
  context.runs_on = outer;
}

}  // namespace headrace
