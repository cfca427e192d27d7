#include "engine/scheduler.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"
#include "base/fence.h"
#include "base/machine.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

// Threads for tasks that may block: enough that they rarely wait for each other, few enough for any system. There are
// more where the order of the program demands it.
constexpr int kMostBlockingThreads = 64;
constexpr int kBatchTasks = 16;
// Back-pressure gives up when nothing at all completes for this long: what would complete may need the pushing thread.
constexpr std::chrono::seconds kThrottlePatience{1};

int64_t default_to(int64_t value, int64_t otherwise) { return value > 0 ? value : otherwise; }

bool all_idle(std::span<Var* const> vars) noexcept {
  return std::ranges::all_of(vars, [](const Var* var) { return var->idle(); });
}

bool any_used_by_streams(std::span<Var* const> vars, bool for_write) noexcept {
  return std::ranges::any_of(vars, [&](const Var* var) { return VarAccess::has_uses(*var, for_write); });
}

FailurePtr first_failure(std::span<Var* const> vars) noexcept {
  for (const Var* var : vars)
    if (FailurePtr failure = VarAccess::failure(*var)) return failure;
  return nullptr;
}

}  // namespace

Scheduler::Scheduler(const Config& config)
    : max_pending_(config.max_pending),
      max_pending_bytes_(default_to(config.max_pending_bytes, physical_memory() / 4)),
      check_interval_(static_cast<int>(std::clamp<int64_t>(config.max_pending / 16, 1, 64))),
      lookahead_(config.lookahead > 0 ? config.lookahead : ReadyQueue::kNoHorizon),
      spin_budget_(config.spin_us),
      compute_(*this, WorkerGroup::Kind::kCompute, static_cast<int>(default_to(config.workers, core_count()))),
      blocking_(*this, WorkerGroup::Kind::kBlocking, kMostBlockingThreads) {}

Scheduler::~Scheduler() {
  shutdown();
  visit_device_queues([](DeviceQueue& queue) { delete &queue; });
}

// Pairs with become_pusher(): either this thread sees that it is no longer the owner, or the newcomer sees `exclusive`.
bool Scheduler::enter_exclusive(ThreadContext& context) noexcept {
  context.exclusive.store(true, std::memory_order_relaxed);
  light_fence();
  if (owner_.load(std::memory_order_acquire) == &context) return true;
  leave_exclusive(context);
  return false;
}

bool Scheduler::has_other_pusher(const ThreadContext& context) const noexcept {
  bool found = false;
  threads_.visit([&](const ThreadContext& other) {
    found |= &other != &context && other.is_pusher.load(std::memory_order_relaxed) &&
             !other.dead.load(std::memory_order_acquire);
  });
  return found;
}

// A thread that is about to register for the first time, or that hopes to be alone again.
void Scheduler::become_pusher(ThreadContext& context) {
  std::lock_guard guard(control_);
  context.is_pusher.store(true, std::memory_order_relaxed);
  ThreadContext* const owner = owner_.load(std::memory_order_relaxed);
  if (owner == &context) return;
  if (owner || has_other_pusher(context)) has_had_several_pushers_.store(true, std::memory_order_relaxed);
  if (owner) {
    owner_.store(nullptr, std::memory_order_seq_cst);
    heavy_fence();
    while (owner->exclusive.load(std::memory_order_acquire)) sched_yield();
  }
  if (has_other_pusher(context)) return;
  // Whoever registered under the lock has left it, and with it the engine.
  std::lock_guard registering(registration_);
  owner_.store(&context, std::memory_order_release);
}

Engine::Inline Scheduler::begin_inline(const TaskSpec& spec, InlineFrame& frame) {
  if (spec.cost_ns >= Engine::kInlineCostNs || spec.may_block || spec.stream) return Engine::Inline::kNo;
  ThreadContext& context = threads_.current();
  if (context.frame && !context.frame->promoted) [[unlikely]]
    promote(context);
  if (!enter_exclusive(context)) return Engine::Inline::kNo;
  if (!all_idle(spec.reads) || (!spec.fresh_writes && !all_idle(spec.writes)) ||
      any_used_by_streams(spec.reads, false) || any_used_by_streams(spec.writes, true)) {
    leave_exclusive(context);
    return Engine::Inline::kNo;
  }
  if (const FailurePtr failure = first_failure(spec.reads)) [[unlikely]] {
    VarAccess::set_outcome(spec, failure, kept_);
    leave_exclusive(context);
    return Engine::Inline::kSkip;
  }
  frame.spec = &spec;
  frame.outer = context.frame;
  context.frame = &frame;
  if (timeline::enabled()) [[unlikely]]
    frame.start = ticks();
  return Engine::Inline::kRun;
}

void Scheduler::end_inline(InlineFrame& frame, const std::exception_ptr& error) noexcept {
  ThreadContext& context = threads_.current();
  const TaskSpec& spec = *frame.spec;
  context.frame = frame.outer;
  if (frame.start) [[unlikely]]
    timeline::record(spec.name, frame.start, ticks());
  FailurePtr failure;
  if (error) [[unlikely]]
    failure = fail(error, spec.name);
  if (frame.promoted) [[unlikely]] {
    --context.depth;
    complete(context, frame.promoted, failure, [](Task&) { return false; });
    return;
  }
  VarAccess::set_outcome(spec, failure, kept_);
  leave_exclusive(context);
}

// The task that this thread runs inside push() becomes a registered one: its body is about to push or wait, and what
// that conflicts with must be visible. All its Vars are still idle, because nobody else could register meanwhile.
void Scheduler::promote(ThreadContext& context) {
  InlineFrame& frame = *context.frame;
  Task* task = Task::make_begun(*frame.spec);
  context.pushed.store(context.pushed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  register_accesses(*task);
  frame.promoted = task;
  ++context.depth;
  leave_exclusive(context);
}

// Returns true when the task is ready and the caller must see to it; a task ready for the batch is put there instead,
// in the same exclusive section, so that who ends the section finds it.
bool Scheduler::register_task(ThreadContext& context, Task& task, bool into_batch) {
  if (context.frame && !context.frame->promoted) [[unlikely]]
    promote(context);
  if (!context.is_pusher.load(std::memory_order_relaxed)) [[unlikely]]
    become_pusher(context);
  if (enter_exclusive(context)) {
    bool ready = register_accesses(task) && (!waits_for_streams(task) || !put_off(task));
    if (ready && into_batch) {
      context.batch.push(&task);
      ready = false;
    }
    leave_exclusive(context);
    return ready;
  }
  std::lock_guard guard(registration_);
  return register_accesses(task) && (!waits_for_streams(task) || !put_off(task));
}

void Scheduler::submit(Task* task) {
  ThreadContext& context = threads_.current();
  if (wants_quiet_.load(std::memory_order_relaxed)) [[unlikely]]
    await_quiet(context);
  Stream* const stream = task->stream;
  const bool cheap = task->cost_ns < Engine::kInlineCostNs && !task->may_block && !stream;
  const bool into_batch = !cheap && !task->may_block && !stream;
  const double cost_ns = task->cost_ns;
  const bool urgent = task->priority == Priority::kHigh;
  if (timeline::enabled()) [[unlikely]]
    task->origin = timeline::here();
  if (task->host_bytes) pending_bytes_.fetch_add(task->host_bytes, std::memory_order_relaxed);
  const int64_t sequence = context.pushed.load(std::memory_order_relaxed) + 1;
  context.pushed.store(sequence, std::memory_order_relaxed);
  if (owner_.load(std::memory_order_relaxed) == &context) task->sequence = sequence;

  if (stream) device_tasks_.fetch_add(1, std::memory_order_relaxed);
  if (register_task(context, *task, into_batch)) {
    if (stream)
      device_queue(stream->accelerator()).enqueue(task);
    else if (cheap)
      run(context, task, [](Task&) { return false; });
    else
      (task->may_block ? blocking_ : compute_).enqueue(task);
  } else if (into_batch) {
    // The task is in the batch now, or waits in its chains; a little too much cost in the sum only flushes earlier. The
    // sum starts anew when others, or this thread while it waited, have emptied the batch.
    if (context.batch.size() > 1) {
      context.batch_cost_ns += cost_ns;
    } else {
      context.batch_cost_ns = cost_ns;
      context.batch_since = steady_ns();
    }
    light_fence();
    if (urgent || context.batch.size() >= kBatchTasks || context.batch_cost_ns >= worth_waking_ns() ||
        drained_.has_sleepers())
      flush(context);
  } else if (urgent && !context.batch.empty()) {
    flush(context);  // what it waits for is urgent, too
  }
  throttle(context);
}

void Scheduler::flush(ThreadContext& context) noexcept {
  context.batch_cost_ns = 0;
  if (context.batch.move_to(compute_.queue()) > 0) compute_.notify();
}

bool Scheduler::over_limit() const noexcept {
  return pending() > max_pending_ || pending_bytes_.load(std::memory_order_relaxed) > max_pending_bytes_;
}

void Scheduler::throttle(ThreadContext& context) noexcept {
  if (++context.since_check < check_interval_ && pending_bytes_.load(std::memory_order_relaxed) <= max_pending_bytes_)
      [[likely]]
    return;
  context.since_check = 0;
  if (owner_.load(std::memory_order_relaxed) != &context && !has_other_pusher(context)) become_pusher(context);
  // A task that pushes must end before others can: it is never held up.
  if (context.depth > 0 || !over_limit()) return;
  flush(context);
  int64_t last_seen = pending();
  Deadline patience = std::chrono::steady_clock::now() + kThrottlePatience;
  const auto content = [&] {
    if (!over_limit()) return true;
    const int64_t now_pending = pending();
    if (now_pending != last_seen) {
      last_seen = now_pending;
      patience = std::chrono::steady_clock::now() + kThrottlePatience;
    }
    return std::chrono::steady_clock::now() > patience;
  };
  const auto sleep = [&](std::chrono::nanoseconds limit) {
    const std::chrono::nanoseconds most = std::chrono::milliseconds(10);
    relaxed_.sleep(content, std::min(limit, most));
  };
  help_until(context, {content, [](Task&) { return true; }, sleep, kNever});
}

int64_t Scheduler::pending() const noexcept {
  // Completions first: a task counted as completed is then also counted as pushed.
  int64_t completed = 0, pushed = 0;
  threads_.visit([&](const ThreadContext& c) { completed += c.completed.load(std::memory_order_acquire); });
  threads_.visit([&](const ThreadContext& c) { pushed += c.pushed.load(std::memory_order_acquire); });
  return pushed - completed;
}

}  // namespace headrace
