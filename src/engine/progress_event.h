// Lets threads sleep until the number of outstanding tasks has fallen; completing threads pay one relaxed load while
// nobody sleeps. Sleepers and completers each call the functions named for them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/fence.h"
#include "base/function_ref.h"
#include "base/futex.h"

namespace headrace {

class ProgressEvent {
 public:
  // Sleeper: sleeps until wake_all(), or `limit`, unless `skip` says that there is no reason to.
  void sleep(FunctionRef<bool()> skip, std::chrono::nanoseconds limit) noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t epoch = epoch_.load(std::memory_order_acquire);
    heavy_fence();
    if (!skip()) futex_wait(epoch_, epoch, limit);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Completer, after light_fence() behind the change that sleepers wait for.
  bool has_sleepers() const noexcept { return sleepers_.load(std::memory_order_relaxed) > 0; }
  void wake_all() noexcept {
    epoch_.fetch_add(1, std::memory_order_release);
    futex_wake_all(epoch_);
  }

 private:
  std::atomic<int> sleepers_{0};
  std::atomic<uint32_t> epoch_{0};
};

}  // namespace headrace
