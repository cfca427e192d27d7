#include "engine/worker_group.h"

#include <sched.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "base/config.h"
#include "base/denormals.h"
#include "base/fence.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/signals_blocked.h"
#include "device/cores.h"
#include "device/shared_loop.h"
#include "engine/scheduler.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kHeldBackCheck = std::chrono::milliseconds(1);
constexpr std::chrono::nanoseconds kCallLimit = std::chrono::milliseconds(10);
constexpr std::chrono::nanoseconds kMoment = std::chrono::microseconds(2);

}  // namespace

WorkerGroup::WorkerGroup(Scheduler& scheduler, Kind kind, int limit) noexcept
    : scheduler_(scheduler), kind_(kind), limit_(limit) {}

WorkerGroup::~WorkerGroup() { stop(); }

void WorkerGroup::enqueue(Task* task) noexcept {
  queue_.push(task);
  notify();
}

void WorkerGroup::enqueue_all(TaskList& tasks) noexcept {
  if (tasks.empty()) return;
  queue_.push_all(tasks);
  notify();
}

// The fence pairs with the one in park(): either we see the sleeper, or it sees the work. A spinner that gives up
// looks again in park().
void WorkerGroup::notify() noexcept {
  full_fence();
  if (spinners_.load(std::memory_order_relaxed) == 0) wake_or_start(kWork);
}

void WorkerGroup::pass_on() noexcept {
  if (queue_.empty()) return;
  const bool has_thread = idle_count_.load(std::memory_order_relaxed) > 0 ||
                          thread_count_.load(std::memory_order_relaxed) < limit_ || needs_another_thread();
  if (!has_thread || !scheduler_.work_visible(kind_)) return;
  if (spinners_.load(std::memory_order_relaxed) == 0) wake_or_start(kWork);
}

// One core is left to the thread that waits, which joins loops, too.
void WorkerGroup::call_for_loops() noexcept {
  const int awake = thread_count_.load(std::memory_order_relaxed) - idle_count_.load(std::memory_order_relaxed);
  if (awake < limit_ - 1) wake_or_start(kShareLoops);
}

void WorkerGroup::begin_blocked() noexcept {
  blocked_.fetch_add(1, std::memory_order_relaxed);
  full_fence();
  if (scheduler_.work_visible(kind_)) notify();
}

void WorkerGroup::wake_or_start(Signal reason) noexcept {
  if (idle_count_.load(std::memory_order_relaxed) > 0) {
    Worker* chosen = nullptr;
    {
      std::lock_guard guard(idle_lock_);
      if (!idle_.empty()) {
        chosen = idle_.back();
        idle_.pop_back();
        idle_count_.store(static_cast<int>(idle_.size()), std::memory_order_relaxed);
      }
    }
    if (chosen) {
      if (reason == kShareLoops) chosen->wake_core.keep_off_own();
      chosen->signal.store(reason, std::memory_order_release);
      futex_wake(chosen->signal, 1);
      return;
    }
  }
  if (is_below_limit())
    start_thread(false);
  else if (needs_another_thread())
    start_thread(true);
}

bool WorkerGroup::is_below_limit() const noexcept {
  return thread_count_.load(std::memory_order_relaxed) < limit_ + blocked_.load(std::memory_order_relaxed);
}

bool WorkerGroup::needs_another_thread() noexcept {
  if (kind_ != Kind::kBlocking || queue_.empty()) return false;
  if (thread_count_.load(std::memory_order_relaxed) >= kMostTimesLimit * limit_) return false;
  std::lock_guard guard(threads_mutex_);
  int64_t latest = ReadyQueue::kNothing;
  for (const auto& worker : workers_) latest = std::max(latest, worker->running.load(std::memory_order_relaxed));
  return queue_.has_until(latest);
}

void WorkerGroup::start_thread(bool beyond_limit) noexcept {
  std::lock_guard guard(threads_mutex_);
  if (!may_start_ || (!beyond_limit && !is_below_limit())) return;
  try {
    workers_.push_back(std::make_unique<Worker>());
    SignalsBlocked blocked;
    Worker& self = *workers_.back();
    self.number = static_cast<int>(workers_.size());
    self.thread = std::thread([this, &self] { work(self); });
  } catch (const std::exception& error) {
    if (!workers_.empty() && !workers_.back()->thread.joinable()) workers_.pop_back();
    log(LogLevel::kWarn, "cannot start worker {}: {}; waiting threads run the work", workers_.size(), error.what());
  }
  thread_count_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
}

void WorkerGroup::work(Worker& self) noexcept {
  if (config().flush_denormals) flush_denormals();
  self.wake_core.enter();
  ThreadContext& context = scheduler_.enter_worker(*this, self.number);
  for (Awaited awaited = Awaited::kFound; awaited != Awaited::kStop; awaited = await_work(self)) {
    // Counts before it takes a task: whoever is woken meanwhile, perhaps on this core, is not alone.
    std::optional<TaskThread> at_work;
    if (kind_ == Kind::kCompute) at_work.emplace();
    Task* task = scheduler_.take_work(context, kind_);
    if (awaited == Awaited::kWoken) note_wake(task != nullptr);
    for (; task; task = scheduler_.take_work(context, kind_)) {
      self.running.store(task->sequence, std::memory_order_relaxed);
      pass_on();
      scheduler_.run_streak(context, task);
    }
    self.running.store(ReadyQueue::kNothing, std::memory_order_relaxed);
  }
}

WorkerGroup::Awaited WorkerGroup::await_work(Worker& self) noexcept {
  if (kind_ == Kind::kCompute && spin()) return Awaited::kFound;
  const Awaited awaited = park(self);
  if (awaited == Awaited::kCalled) {
    self.wake_core.leave();
    await_loop();
  }
  return awaited;
}

// This thread may be on the core of the one that wants company all the same. Until the system has moved one of them to
// another core, this one runs only when nobody else wants to.
void WorkerGroup::await_loop() noexcept {
  const auto end = Clock::now() + kCallLimit;
  while (!join_shared_loops() && !scheduler_.work_visible(kind_) && !stopping_.load(std::memory_order_relaxed) &&
         !wide_loop_runs() && Clock::now() < end)
    sched_yield();
}

void WorkerGroup::note_wake(bool useful) noexcept {
  const int wasted = wasted_wakes_.load(std::memory_order_relaxed);
  wasted_wakes_.store(useful ? wasted / 2 : std::min(wasted + 1, kMostWasted), std::memory_order_relaxed);
}

// At most half the cores spin; one is enough to receive, and it wakes the next when there is more. What a thread has in
// its batch is left to it for a moment: a program that waits for it then does it sooner than it could hand it over.
bool WorkerGroup::spin() noexcept {
  static const int most = std::max(1, core_count() / 2);
  bool found = false;
  if (spinners_.fetch_add(1, std::memory_order_seq_cst) < most) {
    const std::chrono::nanoseconds budget = scheduler_.spin_budget().get();
    auto end = Clock::now() + budget;
    std::optional<Clock::time_point> seen;
    do {
      for (int i = 0; i < 16 && !found; ++i) {
        cpu_pause();
        if (join_shared_loops()) end = Clock::now() + budget;
        found = scheduler_.work_handed_over(kind_);
      }
      if (found) break;
      if (!scheduler_.work_visible(kind_)) {
        seen.reset();
        continue;
      }
      const auto now = Clock::now();
      if (!seen) seen = now;
      found = now - *seen >= kMoment;
    } while (!found && !stopping_.load(std::memory_order_relaxed) && !wide_loop_runs() && Clock::now() < end);
  }
  spinners_.fetch_sub(1, std::memory_order_seq_cst);
  return found;
}

WorkerGroup::Awaited WorkerGroup::park(Worker& self) noexcept {
  if (kind_ == Kind::kCompute) scheduler_.spin_budget().measure_once();
  self.signal.store(kSleep, std::memory_order_relaxed);
  {
    std::lock_guard guard(idle_lock_);
    idle_.push_back(&self);
    idle_count_.store(static_cast<int>(idle_.size()), std::memory_order_relaxed);
  }
  full_fence();
  const auto after_wake = [&] {
    const bool stops = stopping_.load(std::memory_order_relaxed) && !scheduler_.work_visible(kind_);
    return stops ? Awaited::kStop : Awaited::kWoken;
  };
  if (stopping_.load(std::memory_order_relaxed) || scheduler_.work_visible(kind_)) {
    std::lock_guard guard(idle_lock_);
    if (std::erase(idle_, &self)) {
      idle_count_.store(static_cast<int>(idle_.size()), std::memory_order_relaxed);
      return after_wake();
    }
  }
  // Whoever took this thread off the list signals it. Work that is held back comes into reach as other threads go on;
  // one of them wakes this thread then, and if none does, it looks by itself.
  while (self.signal.load(std::memory_order_acquire) == kSleep) {
    if (!scheduler_.work_held_back(kind_)) {
      futex_wait(self.signal, kSleep);
      continue;
    }
    futex_wait(self.signal, kSleep, kHeldBackCheck);
    if (!scheduler_.work_visible(kind_)) continue;
    std::lock_guard guard(idle_lock_);
    if (std::erase(idle_, &self)) {
      idle_count_.store(static_cast<int>(idle_.size()), std::memory_order_relaxed);
      break;
    }
  }
  return self.signal.load(std::memory_order_relaxed) == kShareLoops ? Awaited::kCalled : after_wake();
}

void WorkerGroup::stop() noexcept {
  std::vector<std::unique_ptr<Worker>> ending;
  {
    std::lock_guard guard(threads_mutex_);
    may_start_ = false;
    ending.swap(workers_);
    thread_count_.store(0, std::memory_order_relaxed);
  }
  stopping_.store(true, std::memory_order_relaxed);
  full_fence();
  for (auto& worker : ending) {
    {
      std::lock_guard guard(idle_lock_);
      std::erase(idle_, worker.get());
      idle_count_.store(static_cast<int>(idle_.size()), std::memory_order_relaxed);
    }
    worker->signal.store(kWork, std::memory_order_release);
    futex_wake(worker->signal, 1);
  }
  for (auto& worker : ending) worker->thread.join();
  stopping_.store(false, std::memory_order_relaxed);
}

void WorkerGroup::allow_threads() noexcept {
  {
    std::lock_guard guard(threads_mutex_);
    may_start_ = true;
  }
  if (scheduler_.work_visible(kind_)) notify();
}

void WorkerGroup::lock_for_fork() noexcept {
  threads_mutex_.lock();
  idle_lock_.lock();
}

void WorkerGroup::unlock_after_fork() noexcept {
  idle_lock_.unlock();
  threads_mutex_.unlock();
}

void WorkerGroup::abandon_threads() noexcept {
  for (auto& worker : workers_) static_cast<void>(worker.release());  // a std::thread cannot be destroyed unjoined
  workers_.clear();
  idle_.clear();
  thread_count_.store(0, std::memory_order_relaxed);
  idle_count_.store(0, std::memory_order_relaxed);
  spinners_.store(0, std::memory_order_relaxed);
  blocked_.store(0, std::memory_order_relaxed);
}

}  // namespace headrace
