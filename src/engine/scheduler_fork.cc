// Shutdown and fork: both run everything that is queued and end the threads. A forked child starts with an idle
// engine without threads; they come back, in the parent too, when work needs them.
#include <thread>

#include "base/fence.h"
#include "device/cores.h"
#include "device/shared_loop.h"
#include "engine/scheduler.h"

namespace headrace {
namespace {

constexpr std::chrono::milliseconds kQuietPatience{100};

}  // namespace

void Scheduler::drain() noexcept {
  ThreadContext& context = threads_.current();
  const auto done = [&] { return pending() == 0; };
  const auto sleep = [&](std::chrono::nanoseconds limit) {
    drained_.sleep([&] { return done() || work_visible(WorkerGroup::Kind::kCompute); }, limit);
  };
  help_until(context, {done, [](Task&) { return true; }, sleep, kNever});
}

void Scheduler::shutdown() noexcept {
  const ThreadContext& context = threads_.current();
  if (context.depth > 0 || context.frame) return;
  wants_quiet_.store(true, std::memory_order_relaxed);
  drain();
  wants_quiet_.store(false, std::memory_order_relaxed);
  visit_device_queues([](DeviceQueue& queue) { queue.stop(); });
  blocking_.stop();
  compute_.stop();
  blocking_.allow_threads();
  compute_.allow_threads();
}

// Not for ever: what is pending may need a lock that this thread holds. Tasks push on: others wait for their end.
void Scheduler::await_quiet(const ThreadContext& context) const noexcept {
  if (context.depth > 0 || context.frame) return;
  const Deadline patience = std::chrono::steady_clock::now() + kQuietPatience;
  while (wants_quiet_.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

// Nothing is pending, no thread of the engine runs and no other thread can push; false: tasks came in between.
bool Scheduler::try_quiesce() noexcept {
  drain();
  visit_device_queues([](DeviceQueue& queue) { queue.stop(); });
  blocking_.stop();
  compute_.stop();
  control_.lock();
  if (ThreadContext* owner = owner_.exchange(nullptr)) {
    heavy_fence();
    while (owner != &threads_.current() && owner->exclusive.load(std::memory_order_acquire)) sched_yield();
  }
  registration_.lock();
  bool is_still = pending() == 0;
  visit_device_queues([&](const DeviceQueue& queue) { is_still &= !queue.has_thread(); });
  if (is_still) return true;
  registration_.unlock();
  control_.unlock();
  return false;
}

void Scheduler::quiesce_for_fork() noexcept {
  ThreadContext& context = threads_.current();
  // Inside a task there is no waiting for all tasks; the child of such a fork starts anew.
  is_quiet_ = context.depth == 0 && !context.frame;
  wants_quiet_.store(is_quiet_, std::memory_order_relaxed);
  while (is_quiet_ && !try_quiesce()) {
  }
}

void Scheduler::lock_for_fork() noexcept {
  // No task runs under these locks, so a thread inside a task can take them too.
  device_queues_mutex_.lock();
  visit_device_queues([](DeviceQueue& queue) { queue.lock_for_fork(); });
  compute_.lock_for_fork();
  blocking_.lock_for_fork();
  threads_.lock_for_fork();
  failures_.lock_for_fork();
  kept_.lock_for_fork();
}

void Scheduler::after_fork(bool in_child) noexcept {
  wants_quiet_.store(false, std::memory_order_relaxed);
  kept_.unlock_after_fork();
  failures_.unlock_after_fork();
  threads_.unlock_after_fork();
  blocking_.unlock_after_fork();
  compute_.unlock_after_fork();
  visit_device_queues([](DeviceQueue& queue) { queue.unlock_after_fork(); });
  device_queues_mutex_.unlock();
  if (in_child) {
    registration_.reset();
    control_.reset();
  } else if (is_quiet_) {
    registration_.unlock();
    control_.unlock();
  }
  if (in_child) {
    failures_.clear();  // the parent reports them
    kept_.clear();
    threads_.forget_other_threads();
    forget_other_threads();
    forget_shared_loops();
    if (!is_quiet_) abandon_everything();
    forget_lost_tasks();
  }
  if (is_quiet_ || in_child) {
    blocking_.allow_threads();
    compute_.allow_threads();
  }
  if (in_child) has_had_several_pushers_.store(true, std::memory_order_relaxed);  // the counts are not its own
}

// The child of a fork from inside a task has copies of tasks that other threads were running. They are left alone.
void Scheduler::abandon_everything() noexcept {
  compute_.abandon_threads();
  blocking_.abandon_threads();
  visit_device_queues([](DeviceQueue& queue) { queue.abandon(); });
  device_tasks_.store(0, std::memory_order_relaxed);
  compute_.queue().forget();
  blocking_.queue().forget();
  threads_.visit([](ThreadContext& context) { context.batch.forget(); });
  owner_.store(nullptr, std::memory_order_relaxed);
}

// In the child: what other threads had counted but not registered, or had registered and not run, is gone.
void Scheduler::forget_lost_tasks() noexcept {
  ThreadContext& own = threads_.current();
  own.completed.fetch_add(pending() - own.depth, std::memory_order_relaxed);
  pending_bytes_.store(0, std::memory_order_relaxed);
}

}  // namespace headrace
