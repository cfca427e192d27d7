// Who uses the cores of the host now. Threads that compute and loops that use several threads announce themselves; the
// sum tells a new loop how wide it may be and an idle thread whether it may spin. Approximate by nature.
// Any thread may call any function.
#pragma once

namespace headrace {

// Cores on which nobody computes, the calling thread's own included; at least 1.
int idle_cores() noexcept;
// A loop uses more than one thread now: spinning would take a core from it.
bool wide_loop_runs() noexcept;

// Loops of several threads leave no core to the calling thread: what it began now would slow them down.
bool loops_use_all_cores() noexcept;

// While it lives, the calling thread computes something of that cost, and counts unless it is over in no time. May be
// nested.
class BusyThread {
 public:
  explicit BusyThread(double cost_ns = kLongNs) noexcept;
  ~BusyThread();
  BusyThread(const BusyThread&) = delete;
  BusyThread& operator=(const BusyThread&) = delete;

 private:
  static constexpr double kLongNs = 5'000;
  const bool counts_;
};

// While it lives, the calling thread goes from task to task, or looks for one. It holds no core all that time: a thread
// that has woken another one may have to wait for its core before it gets to the end of a task. May be nested.
class TaskThread {
 public:
  TaskThread() noexcept;
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;
};

bool other_threads_run_tasks() noexcept;

// While it lives, `threads` threads, the calling one included, run one loop.
class WideLoop {
 public:
  explicit WideLoop(int threads) noexcept;
  ~WideLoop();
  WideLoop(const WideLoop&) = delete;
  WideLoop& operator=(const WideLoop&) = delete;

 private:
  const int further_;  // threads that are not announced otherwise
};

// In a forked child: only the calling thread is left.
void forget_other_threads() noexcept;

}  // namespace headrace
