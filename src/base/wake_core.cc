#include "base/wake_core.h"

#include <pthread.h>

namespace headrace {
namespace {

cpu_set_t only(int core) noexcept {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(core), &one);
  return one;
}

bool is_known(int core) noexcept { return core >= 0 && core < CPU_SETSIZE; }

}  // namespace

void WakeCore::settle() noexcept {
  const int here = sched_getcpu();
  if (!is_known(here) || pthread_getaffinity_np(pthread_self(), sizeof before_, &before_) != 0) return;
  const cpu_set_t one = only(here);
  if (pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0) core_ = here;
}

void WakeCore::leave() noexcept {
  if (core_ != kAny) pthread_setaffinity_np(pthread_self(), sizeof before_, &before_);
  core_ = kAny;
}

void WakeCore::keep_off_own(std::thread& sleeper) noexcept {
  const int own = sched_getcpu();
  if (core_ != own || !is_known(own)) return;
  cpu_set_t others = before_;
  CPU_CLR(static_cast<size_t>(own), &others);
  if (CPU_COUNT(&others) > 0) bind(sleeper, others);
}

void WakeCore::move_to_own(std::thread& sleeper) noexcept {
  const int own = sched_getcpu();
  if (core_ != kAny && core_ != own && is_known(own) && CPU_ISSET(static_cast<size_t>(own), &before_))
    bind(sleeper, only(own));
}

void WakeCore::bind(std::thread& sleeper, const cpu_set_t& cores) noexcept {
  pthread_setaffinity_np(sleeper.native_handle(), sizeof cores, &cores);
}

}  // namespace headrace
