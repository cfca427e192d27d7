// Who uses the cores of the host now. Threads that run tasks and loops that use several threads announce themselves;
// the sum tells a new loop how wide it may be and an idle thread whether it may spin. Approximate by nature.
// Any thread may call any function.
#pragma once

namespace headrace {

// Cores that run no task and no part of a parallel loop, the calling thread's own included; at least 1.
int idle_cores() noexcept;
// A loop uses more than one thread now: spinning would take a core from it.
bool wide_loop_runs() noexcept;

// Loops of several threads leave no core to the calling thread: what it began now would slow them down.
bool loops_use_all_cores() noexcept;

// While it lives, the calling thread counts as busy. May be nested.
class BusyThread {
 public:
  BusyThread() noexcept;
  ~BusyThread();
  BusyThread(const BusyThread&) = delete;
  BusyThread& operator=(const BusyThread&) = delete;
};

// While it lives, `threads` threads, the calling one included, run one loop.
class WideLoop {
 public:
  explicit WideLoop(int threads) noexcept;
  ~WideLoop();
  WideLoop(const WideLoop&) = delete;
  WideLoop& operator=(const WideLoop&) = delete;

 private:
  const int threads_;
};

// In a forked child: only the calling thread is left.
void forget_other_threads() noexcept;

}  // namespace headrace
