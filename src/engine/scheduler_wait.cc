// Waiting: a waiting thread first runs what is ready, then spins, joining short loops, then parks.
#include <algorithm>

#include "base/clock.h"
#include "device/cores.h"
#include "device/shared_loop.h"
#include "engine/scheduler.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

// A thread that waits for one Var does not start unrelated tasks above this cost while the workers are there for
// them: its own task might be ready long before.
constexpr float kHelpCostNs = 100'000;

std::chrono::nanoseconds until(Scheduler::Deadline deadline, Clock::time_point now) {
  return deadline == Scheduler::kNever ? std::chrono::nanoseconds::max() : deadline - now;
}

}  // namespace

// A thread that leaves hands over what it still has, and what the workers left to it because it was at work: others may
// wait for either.
bool Scheduler::help_until(ThreadContext& context, const Waiting& waiting) {
  if (!context.batch.empty() && static_cast<double>(steady_ns() - context.batch_since) > wake_cost_ns())
    compute_.forget_wasted_wakes();
  const bool reached = help(context, waiting);
  if (!context.batch.empty())
    flush(context);
  else
    compute_.pass_on();
  return reached;
}

bool Scheduler::help(ThreadContext& context, const Waiting& waiting) {
  const std::chrono::nanoseconds budget = spin_budget_.get();
  Deadline spin_end = Deadline::min();  // not known before there was nothing to do
  const auto late = [&] { return waiting.deadline != kNever && Clock::now() >= waiting.deadline; };
  // A chain of tasks may be long: after each one this thread looks whether it is still to help.
  const auto may_continue = [&](Task& task) { return !waiting.done() && !late() && waiting.allowed(task); };
  for (;;) {
    if (waiting.done()) return true;
    if (const TaskThread at_work; Task* task = take_to_help(context, waiting.allowed)) {
      run_on(context, task, may_continue);
      spin_end = Deadline::min();
      if (!late()) continue;
      return waiting.done();
    }
    const Deadline now = Clock::now();
    if (now >= waiting.deadline) return false;
    if (spin_end == Deadline::min()) spin_end = now + budget;
    if (now < spin_end && !wide_loop_runs()) {
      for (int i = 0; i < 32 && !waiting.done(); ++i) {
        cpu_pause();
        if (join_shared_loops()) spin_end = Deadline::min();
      }
      continue;
    }
    // What is held back in the batch of a sleeping thread nobody would look for.
    if (!context.batch.empty()) flush(context);
    // A compute thread that sleeps inside a task leaves its place to another one.
    const bool is_worker = context.group == &compute_, is_program = context.depth == 0;
    if (is_worker) compute_.begin_blocked();
    if (is_program) sleepers_.fetch_add(1, std::memory_order_relaxed);
    waiting.sleep(until(waiting.deadline, now));
    if (is_program) sleepers_.fetch_sub(1, std::memory_order_relaxed);
    if (is_worker) compute_.end_blocked();
    spin_end = Deadline::min();
  }
}

bool Scheduler::wait(Var& var, bool for_all, FunctionRef<Deadline()> next_deadline, FunctionRef<bool()> again) {
  if (var.idle() && !VarAccess::has_uses(var, for_all)) {
    if (const FailurePtr failure = VarAccess::failure(var)) failure->raise();
    return true;
  }
  ThreadContext& context = threads_.current();
  Task* task = Task::make_wait(var, for_all);
  if (register_task(context, *task, false)) {
    ChainEvents events;
    events.ready.push(task);
    TaskList ready;  // what another thread pushed behind the wait
    reach_waits(events, ready);
    if (!ready.empty()) place(context, ready, [](Task&) { return false; });
  }
  const auto done = [&] { return task->wait_state.load(std::memory_order_acquire) == Task::kReached; };
  const auto allowed = [&](Task& other) {
    return other.cost_ns < kHelpCostNs || other.writes(var) || (!compute_.has_idle_thread() && idle_cores() > 1);
  };
  const auto sleep = [&](std::chrono::nanoseconds limit) {
    uint32_t expected = Task::kWaiting;
    task->wait_state.compare_exchange_strong(expected, Task::kParked, std::memory_order_acq_rel);
    futex_wait(task->wait_state, Task::kParked, limit);
  };
  bool reached = help_until(context, {done, allowed, sleep, next_deadline()});
  while (!reached && again()) reached = help_until(context, {done, allowed, sleep, next_deadline()});
  const FailurePtr failure = reached ? task->failure : nullptr;
  Task::drop(task, 1);
  if (failure) failure->raise();
  return reached;
}

bool Scheduler::rests() const noexcept {
  return !other_threads_run_tasks() && device_tasks_.load(std::memory_order_relaxed) == 0 &&
         !work_held_back(WorkerGroup::Kind::kCompute);
}

bool Scheduler::wait_all(Deadline deadline) {
  ThreadContext& context = threads_.current();
  // A task that waits for all tasks does not wait for itself. Such waits are rare: they look now and then.
  const int64_t own = context.depth;
  const auto done = [&] { return pending() <= own; };
  const auto sleep = [&](std::chrono::nanoseconds limit) {
    const std::chrono::nanoseconds most = own > 0 ? std::chrono::milliseconds(1) : std::chrono::nanoseconds::max();
    drained_.sleep([&] { return done() || work_visible(WorkerGroup::Kind::kCompute); }, std::min(limit, most));
  };
  if (!help_until(context, {done, [](Task&) { return true; }, sleep, deadline})) return false;
  failures_.raise_first();
  return true;
}

}  // namespace headrace
