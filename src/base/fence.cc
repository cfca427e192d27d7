#include "base/fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace headrace {
namespace {

long membarrier(int command) noexcept { return syscall(__NR_membarrier, command, 0, 0); }

bool register_membarrier() noexcept {
#if defined(__SANITIZE_THREAD__)
  return false;  // the sanitizer cannot see it
#else
  const long supported = membarrier(MEMBARRIER_CMD_QUERY);
  return supported > 0 && (supported & MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
         membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
#endif
}

}  // namespace

// Set while the library is loaded, before any thread can use a fence; a forked child inherits the registration.
std::atomic<bool> detail::fence_is_asymmetric{register_membarrier()};

// ThreadSanitizer does not model fences, but does model read-modify-write operations on one object.
void detail::full_fence() noexcept {
  static std::atomic<int> meeting_point{0};
  meeting_point.fetch_add(0, std::memory_order_seq_cst);
}

void heavy_fence() noexcept {
  if (!detail::fence_is_asymmetric.load(std::memory_order_relaxed) || membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
    full_fence();
}

}  // namespace headrace
