#include "base/wake_core.h"

namespace headrace {

void WakeCore::keep_off_own() noexcept {
  const int own = sched_getcpu();
  if (own < 0 || own >= CPU_SETSIZE || pthread_getaffinity_np(sleeper_, sizeof before_, &before_) != 0) return;
  cpu_set_t others = before_;
  CPU_CLR(static_cast<size_t>(own), &others);
  is_bound_ = CPU_COUNT(&others) > 0 && pthread_setaffinity_np(sleeper_, sizeof others, &others) == 0;
}

void WakeCore::leave() noexcept {
  if (is_bound_) pthread_setaffinity_np(pthread_self(), sizeof before_, &before_);
  is_bound_ = false;
}

}  // namespace headrace
