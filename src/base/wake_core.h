// Where a sleeping thread wakes up. Where few cores are, the kernel may put a woken thread on the core of the one that
// wakes it, though another core is idle, and it gets to run when that one sleeps.
#pragma once

#include <sched.h>

#include <thread>

namespace headrace {

class WakeCore {
 public:
  // Called by whoever is about to wake `sleeper`: it will wake up on another core, if it may run on others.
  void keep_off_own(std::thread& sleeper) noexcept;
  // Called by the woken thread: it may run on all cores that it could run on before.
  void leave() noexcept;

 private:
  cpu_set_t before_;
  bool is_bound_ = false;
};

}  // namespace headrace
