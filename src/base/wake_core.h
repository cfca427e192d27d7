// Where a sleeping thread wakes up. Where few cores are, the kernel may put a woken thread on the core of the thread
// that wakes it, though another one is idle, and it gets to run when the other one sleeps. So a thread sleeps bound to
// a core, and is free again when it runs.
#pragma once

#include <sched.h>

#include <thread>

namespace headrace {

class WakeCore {
 public:
  // Called by the thread before others may wake it: it will wake up on the core where it is.
  void settle() noexcept;
  // Called by the thread once it is awake: it may run on all cores that it could run on before.
  void leave() noexcept;

  // These two are called by whoever wakes the thread `sleeper`, before: it will wake up on another core than that of
  // the caller, or on that core, which the caller will leave to it.
  void keep_off_own(std::thread& sleeper) noexcept;
  void move_to_own(std::thread& sleeper) noexcept;

 private:
  static constexpr int kAny = -1;
  void bind(std::thread& sleeper, const cpu_set_t& cores) noexcept;

  cpu_set_t before_;  // where the thread may run
  int core_ = kAny;   // to which it is bound
};

}  // namespace headrace
