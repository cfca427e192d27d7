// A queue of ready tasks and the threads that run them. Threads are started when work finds none idle, up to a limit,
// and park when there is nothing to do. Owned by the Scheduler; any thread may call the public functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/wake_core.h"
#include "engine/ready_queue.h"

namespace headrace {

class Scheduler;

class WorkerGroup {
 public:
  enum class Kind { kCompute, kBlocking };

  WorkerGroup(Scheduler& scheduler, Kind kind, int limit) noexcept;
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  Kind kind() const noexcept { return kind_; }
  int limit() const noexcept { return limit_; }
  ReadyQueue& queue() noexcept { return queue_; }
  const ReadyQueue& queue() const noexcept { return queue_; }

  void enqueue(Task* task) noexcept;
  void enqueue_all(TaskList& tasks) noexcept;
  // After work was put where the group looks: makes sure that a thread looks there.
  void notify() noexcept;
  // A thread that found work calls it: wakes another one if there is more.
  void pass_on() noexcept;
  // A thread that has nothing to do shall spin, so as to join loops that are shared.
  void call_for_loops() noexcept;
  // How many times the cost of a wake-up work should have before a thread is woken for it: more after wake-ups that
  // came too late because another thread, most often the one that had pushed and then waited, had done the work by
  // then.
  int wake_factor() const noexcept { return 1 << wasted_wakes_.load(std::memory_order_relaxed); }
  // Work has lain there although a thread had the time to do it.
  void forget_wasted_wakes() noexcept { wasted_wakes_.store(0, std::memory_order_relaxed); }
  bool has_idle_thread() const noexcept { return idle_count_.load(std::memory_order_relaxed) > 0; }

  // A thread of the group is about to park inside a task, or continues: another one may run meanwhile.
  void begin_blocked() noexcept;
  void end_blocked() noexcept { blocked_.fetch_sub(1, std::memory_order_relaxed); }

  // Ends all threads; no thread is started until allow_threads().
  void stop() noexcept;
  void allow_threads() noexcept;

  // Around fork(), after stop(): no other thread holds the locks.
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;
  // In a child of a process that was not stopped: the threads are gone, whatever the members say.
  void abandon_threads() noexcept;

 private:
  static constexpr int kMostWasted = 8;
  static constexpr int kMostTimesLimit = 8;  // as many threads as the limit, where some are needed beyond it

  enum Signal : uint32_t { kSleep, kWork, kShareLoops };

  struct Worker {
    std::thread thread;  // of start_thread() and stop(): the thread itself may run before this names it
    int number = 0;      // from 1, for people
    std::atomic<uint32_t> signal{kSleep};
    WakeCore wake_core;  // of who has taken it off the list of idle ones, until it is signalled
    std::atomic<int64_t> running{ReadyQueue::kNothing};  // sequence of its task
  };

  void wake_or_start(Signal reason) noexcept;
  bool is_below_limit() const noexcept;
  // Of tasks that block, those that the program has stated later wait for other processes perhaps, which wait for what
  // an earlier one has to do: that one is not left without a thread, unless there are very many. Where several threads
  // push, nobody knows which are earlier.
  bool needs_another_thread() noexcept;
  void start_thread(bool beyond_limit) noexcept;
  void work(Worker& self) noexcept;
  enum class Awaited { kStop, kFound, kWoken, kCalled };
  Awaited await_work(Worker& self) noexcept;
  void note_wake(bool useful) noexcept;
  bool spin() noexcept;  // true: work appeared
  void await_loop() noexcept;
  Awaited park(Worker& self) noexcept;

  Scheduler& scheduler_;
  const Kind kind_;
  const int limit_;
  ReadyQueue queue_;
  std::atomic<int> spinners_{0};
  std::atomic<int> blocked_{0};
  std::atomic<int> wasted_wakes_{0};  // in a row, up to kMostWasted; approximate
  std::atomic<bool> stopping_{false};

  SpinLock idle_lock_;
  std::vector<Worker*> idle_;       // guarded by idle_lock_; the last one parked is the first one woken
  std::atomic<int> idle_count_{0};  // its size; written under idle_lock_

  std::mutex threads_mutex_;
  std::vector<std::unique_ptr<Worker>> workers_;  // guarded by threads_mutex_
  std::atomic<int> thread_count_{0};              // its size; written under threads_mutex_
  bool may_start_ = true;                         // guarded by threads_mutex_
};

}  // namespace headrace
