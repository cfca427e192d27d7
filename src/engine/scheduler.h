// The inside of the threaded engine: who may register, where ready tasks go, who runs them, how threads wait.
// docs/engine.md tells the whole story; the parts are in
//   scheduler.cc        pushing: caller runs, registration, batches, back-pressure
//   scheduler_run.cc    running a task, completing it, passing its successors on
//   scheduler_wait.cc   waiting and helping
//   scheduler_device.cc tasks of accelerators
//   scheduler_fork.cc   shutdown and fork
// Any thread may call any function unless it says otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>

#include "base/function_ref.h"
#include "engine/chain.h"
#include "engine/device_queue.h"
#include "engine/engine.h"
#include "engine/failure.h"
#include "engine/fair_lock.h"
#include "engine/progress_event.h"
#include "engine/spin_budget.h"
#include "engine/task_group.h"
#include "engine/thread_context.h"
#include "engine/var_access.h"
#include "engine/worker_group.h"

namespace headrace {

class Scheduler {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  static constexpr Deadline kNever = Deadline::max();
  static constexpr double kAlwaysWorthNs = 1e6;  // work that a thread is woken for in any case

  explicit Scheduler(const Config& config);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  Engine::Inline begin_inline(const TaskSpec& spec, InlineFrame& frame);
  void end_inline(InlineFrame& frame, const std::exception_ptr& error) noexcept;
  void submit(Task* task);

  // Until next_deadline(), and on to the next one each time that `again` says so; false: the last one has passed.
  // Raises the error of the Var.
  bool wait(Var& var, bool for_all, FunctionRef<Deadline()> next_deadline, FunctionRef<bool()> again);
  // Raises the oldest error that has not been raised.
  bool wait_all(Deadline deadline);

  void hand_over() noexcept { flush(threads_.current()); }
  void drain() noexcept;
  int worker_count() const noexcept { return compute_.limit(); }
  int64_t pending() const noexcept;
  bool rests() const noexcept;
  bool is_awaited() const noexcept { return sleepers_.load(std::memory_order_relaxed) > 0; }
  FailureLog& failures() noexcept { return failures_; }
  FailureLog& kept() noexcept { return kept_; }

  void shutdown() noexcept;
  void quiesce_for_fork() noexcept;
  void lock_for_fork() noexcept;
  void after_fork(bool in_child) noexcept;

  // For WorkerGroup.
  ThreadContext& enter_worker(WorkerGroup& group, int number);
  Task* take_work(ThreadContext& context, WorkerGroup::Kind kind) noexcept;
  bool work_visible(WorkerGroup::Kind kind) const noexcept;
  bool work_handed_over(WorkerGroup::Kind kind) const noexcept;  // visible, and not only in the batch of a thread
  bool work_held_back(WorkerGroup::Kind kind) const noexcept;    // ready, but possibly beyond the horizon
  void run_streak(ThreadContext& context, Task* task) noexcept;
  SpinBudget& spin_budget() noexcept { return spin_budget_; }

  // For DeviceQueue, in its launch thread.
  ThreadContext& enter_launcher(Device device);
  FailurePtr fail(const std::exception_ptr& error, const char* name) noexcept;
  void pass_launched(ThreadContext& context, Task& task) noexcept;
  void retire(ThreadContext& context, Launch& launch) noexcept;
  void end_device_task(ThreadContext& context, Task& task, const FailurePtr& failure) noexcept;

 private:
  // A thread that waits: when it is content, what it may run meanwhile, how it sleeps (for at most the given time).
  struct Waiting {
    FunctionRef<bool()> done;
    FunctionRef<bool(Task&)> allowed;
    FunctionRef<void(std::chrono::nanoseconds)> sleep;
    Deadline deadline;
  };

  // Pushing (scheduler.cc).
  bool enter_exclusive(ThreadContext& context) noexcept;
  void leave_exclusive(ThreadContext& context) noexcept { context.exclusive.store(false, std::memory_order_release); }
  void become_pusher(ThreadContext& context);
  bool has_other_pusher(const ThreadContext& context) const noexcept;
  void promote(ThreadContext& context);
  bool register_task(ThreadContext& context, Task& task, bool into_batch);
  void flush(ThreadContext& context) noexcept;
  void throttle(ThreadContext& context) noexcept;
  bool over_limit() const noexcept;

  // Running (scheduler_run.cc).
  Task* run(ThreadContext& context, Task* task, FunctionRef<bool(Task&)> may_continue) noexcept;
  bool run_group(ThreadContext& context, TaskGroup& group) noexcept;
  Task* complete(ThreadContext& context, Task* task, const FailurePtr& failure,
                 FunctionRef<bool(Task&)> may_continue) noexcept;
  Task* complete(ThreadContext& context, const TaskGroup& group, FunctionRef<bool(Task&)> may_continue) noexcept;
  void release(Task& task, int reasons) noexcept;
  void finish(Task& task, const FailurePtr& failure, TaskList& ready) noexcept;
  Task* pass_on(ThreadContext& context, int count, TaskList& ready, FunctionRef<bool(Task&)> may_continue) noexcept;
  void reach_waits(ChainEvents& events, TaskList& work) noexcept;
  bool goes_behind(const Task& task) const noexcept;
  bool is_visible(const ReadyQueue& queue) const noexcept;
  Task* place(ThreadContext& context, TaskList& ready, FunctionRef<bool(Task&)> may_continue) noexcept;
  void run_on(ThreadContext& context, Task* task, FunctionRef<bool(Task&)> may_continue) noexcept;
  double wake_cost_ns() const noexcept { return static_cast<double>(spin_budget_.wake_cost().count()); }
  // What work has to cost for a thread to be woken for it.
  double worth_waking_ns() const noexcept { return std::min(wake_cost_ns() * compute_.wake_factor(), kAlwaysWorthNs); }
  void announce_progress() noexcept;
  int64_t horizon() const noexcept;
  int64_t horizon_to_take() const noexcept;
  template <class Allowed>
  Task* take(ThreadContext& context, const Allowed& allowed) noexcept;
  template <class Allowed>
  Task* take_until(int64_t last, ThreadContext& context, const Allowed& allowed) noexcept;
  Task* take_to_help(ThreadContext& context, FunctionRef<bool(Task&)> allowed) noexcept;

  // Accelerators (scheduler_device.cc).
  DeviceQueue& device_queue(Accelerator& accelerator);
  void visit_device_queues(FunctionRef<void(DeviceQueue&)> visit) noexcept;
  // On the host nothing orders it behind streams; one that keeps must know what became of what it reads.
  static bool waits_for_streams(const Task& task) noexcept { return !task.stream || task.keeps; }
  bool put_off(Task& task) noexcept;

  // Waiting (scheduler_wait.cc).
  bool help_until(ThreadContext& context, const Waiting& waiting);
  bool help(ThreadContext& context, const Waiting& waiting);

  void await_quiet(const ThreadContext& context) const noexcept;
  bool try_quiesce() noexcept;
  void abandon_everything() noexcept;
  void forget_lost_tasks() noexcept;

  // Constant after construction.
  const int64_t max_pending_;
  const int64_t max_pending_bytes_;
  const int check_interval_;
  const int64_t lookahead_;

  // The only pushing thread, if there is only one. It registers without a lock and runs cheap tasks without
  // registering, inside sections that it marks with ThreadContext::exclusive; a second one takes this away first.
  alignas(64) std::atomic<ThreadContext*> owner_{nullptr};
  std::atomic<int64_t> pending_bytes_{0};
  // Set for good when a second thread has pushed: numbers of tasks of different threads do not compare, so nothing is
  // held back from then on.
  std::atomic<bool> has_had_several_pushers_{false};

  alignas(64) FairLock registration_;  // held while registering, when there is no owner
  FairLock control_;                   // guards changes of owner_ and of is_pusher
  // A fork or the end is about to come: a thread that pushes waits, else the engine might never be without tasks.
  std::atomic<bool> wants_quiet_{false};
  bool is_quiet_ = false;  // nothing was queued or running at the fork; written by the forking thread

  ThreadRegistry threads_;
  SpinBudget spin_budget_;
  std::atomic<int> sleepers_{0};  // threads that are in no task and sleep in a wait
  FailureLog failures_;
  FailureLog kept_;        // because of which tasks that keep have not happened
  ProgressEvent drained_;  // nothing is pending
  ProgressEvent relaxed_;  // half the limits of back-pressure
  WorkerGroup compute_;
  WorkerGroup blocking_;

  std::atomic<int64_t> device_tasks_{0};                                       // pushed for accelerators and not over
  std::mutex device_queues_mutex_;                                             // held while one is made
  std::array<std::atomic<DeviceQueue*>, Accelerator::kMost> device_queues_{};  // by number of the device; owned
};

}  // namespace headrace
