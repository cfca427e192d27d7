#include "backend/cpu/parallel.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "base/config.h"
#include "device/cores.h"

namespace headrace {
namespace {

// oneTBB is not built for ThreadSanitizer here, which would report its inner synchronisation as races.
#if defined(__SANITIZE_THREAD__)
constexpr bool kSerial = true;
#else
constexpr bool kSerial = false;
#endif

// One arena per width, so that a loop gets exactly the threads it asked for; all draw from oneTBB's one set of threads.
class Arenas {
 public:
  Arenas() : arenas_(static_cast<size_t>(core_count()) + 1), made_(std::make_unique<std::once_flag[]>(arenas_.size())) {}

  tbb::task_arena& of(int threads) {
    const size_t index = std::clamp<size_t>(static_cast<size_t>(threads), 1, arenas_.size() - 1);
    std::call_once(made_[index], [&] { arenas_[index] = std::make_unique<tbb::task_arena>(static_cast<int>(index)); });
    return *arenas_[index];
  }

 private:
  std::vector<std::unique_ptr<tbb::task_arena>> arenas_;
  std::unique_ptr<std::once_flag[]> made_;
};

Arenas& arenas() {
  static Arenas& instance = *new Arenas();
  return instance;
}

}  // namespace

int threads_for(double total_cost_ns) noexcept {
  if (kSerial || total_cost_ns < 2 * kCostPerThreadNs) return 1;
  return static_cast<int>(std::clamp(total_cost_ns / kCostPerThreadNs, 1.0, static_cast<double>(idle_cores())));
}

void parallel_for(int64_t n, int64_t grain, double total_cost_ns, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int threads = n <= grain ? 1 : threads_for(total_cost_ns);
  if (threads == 1) {
    body(0, n);
    return;
  }
  run_in_arena_of(threads, [&] {
    // A few pieces per thread even out unequal progress; more would only cost.
    const int64_t piece = std::max(grain, (n + threads * 4 - 1) / (threads * 4));
    const int64_t pieces = (n + piece - 1) / piece;
    tbb::parallel_for(int64_t{0}, pieces, [&](int64_t i) { body(i * piece, std::min(n, (i + 1) * piece)); });
  });
}

void run_in_arena_of(int threads, FunctionRef<void()> body) {
  if (kSerial) {
    body();
    return;
  }
  if (threads <= 1) {
    arenas().of(1).execute([&] { body(); });
    return;
  }
  WideLoop loop(threads);
  arenas().of(threads).execute([&] { body(); });
}

}  // namespace headrace
