// Where a sleeping thread wakes up. Where few cores are, the kernel may put a woken thread on the core of the one that
// wakes it, though another core is idle, and it gets to run when that one sleeps.
#pragma once

#include <pthread.h>
#include <sched.h>

namespace headrace {

class WakeCore {
 public:
  // Called by the thread that will sleep, before anybody can wake it.
  void enter() noexcept { sleeper_ = pthread_self(); }
  // Called by whoever is about to wake it: it will wake up on another core, if it may run on others.
  void keep_off_own() noexcept;
  // Called by the woken thread: it may run on all cores that it could run on before.
  void leave() noexcept;

 private:
  pthread_t sleeper_ = {};
  cpu_set_t before_;
  bool is_bound_ = false;
};

}  // namespace headrace
