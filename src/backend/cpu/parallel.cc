#include "backend/cpu/parallel.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/config.h"
#include "base/spin_lock.h"
#include "device/cores.h"
#include "device/shared_loop.h"

namespace headrace {
namespace {

// oneTBB is not built for ThreadSanitizer here, which would report its inner synchronisation as races.
#if defined(__SANITIZE_THREAD__)
constexpr bool kSerial = true;
#else
constexpr bool kSerial = false;
#endif

// Arenas by width, so that a loop gets exactly the threads it asked for; all draw from oneTBB's one set of threads.
// An arena serves one loop at a time: a second loop in it would wait for a place.
class Arenas {
 public:
  Arenas() : handle_(tbb::attach{}), free_(static_cast<size_t>(core_count()) + 1) {}

  using Arena = std::unique_ptr<tbb::task_arena>;

  size_t width(int threads) const noexcept {
    return std::clamp<size_t>(static_cast<size_t>(threads), 1, free_.size() - 1);
  }
  Arena take(size_t width) {
    {
      std::lock_guard guard(lock_);
      auto& free = free_[width];
      if (!free.empty()) {
        Arena arena = std::move(free.back());
        free.pop_back();
        return arena;
      }
    }
    return std::make_unique<tbb::task_arena>(static_cast<int>(width));
  }
  void give_back(size_t width, Arena arena) {
    std::lock_guard guard(lock_);
    free_[width].push_back(std::move(arena));
  }

  // Ends all threads of oneTBB; false: other users of oneTBB in this process keep them. No arena is taken.
  bool end_threads() noexcept {
    free_.clear();
    return tbb::finalize(handle_, std::nothrow);
  }

 private:
  tbb::task_scheduler_handle handle_;
  SpinLock lock_;
  std::vector<std::vector<Arena>> free_;  // by width; guarded by lock_
};

// Null until the first use, and again around a fork. Replaced only while no loop runs.
std::atomic<Arenas*> current_arenas{nullptr};
std::mutex arenas_mutex;  // guards the change of current_arenas from null

// In a child whose oneTBB threads could not be ended before the fork: they are gone, but oneTBB counts on them.
bool threads_are_lost = false;
bool threads_were_ended = true;  // by the latest fork; guarded by arenas_mutex

Arenas& arenas() {
  Arenas* current = current_arenas.load(std::memory_order_acquire);
  if (current) return *current;
  std::lock_guard guard(arenas_mutex);
  if (!current_arenas.load(std::memory_order_relaxed)) current_arenas.store(new Arenas(), std::memory_order_release);
  return *current_arenas.load(std::memory_order_relaxed);
}

// A loop that found the other cores busy looks this often whether they still are.
constexpr double kLookAgainNs = 200'000;

// An arena of its own for as long as it lives.
class ArenaLease {
 public:
  explicit ArenaLease(int threads) : owner_(arenas()), width_(owner_.width(threads)), arena_(owner_.take(width_)) {}
  ~ArenaLease() { owner_.give_back(width_, std::move(arena_)); }
  ArenaLease(const ArenaLease&) = delete;
  ArenaLease& operator=(const ArenaLease&) = delete;

  size_t width() const noexcept { return width_; }
  void execute(FunctionRef<void()> body) {
    arena_->execute([&] { body(); });
  }

 private:
  Arenas& owner_;
  const size_t width_;
  Arenas::Arena arena_;
};

void wide_for(int64_t begin, int64_t end, int64_t grain, int threads, FunctionRef<void(int64_t, int64_t)> body) {
  run_in_arena_of(threads, [&] {
    // A few pieces per thread even out unequal progress; more would only cost.
    const int64_t piece = std::max(grain, (end - begin + threads * 4 - 1) / (threads * 4));
    const int64_t pieces = (end - begin + piece - 1) / piece;
    tbb::parallel_for(int64_t{0}, pieces, [&](int64_t i) {
      const int64_t first = begin + i * piece;
      body(first, std::min(end, first + piece));
    });
  });
}

// A piece of a shared loop takes about this long.
constexpr double kSharedPieceNs = 2'500;

bool is_shared(int64_t n, int64_t grain, double cost_ns) noexcept {
  return n > grain && cost_ns >= kLeastSharedNs && cost_ns < 2 * kCostPerThreadNs && idle_cores() > 1;
}

void shared_for(int64_t n, int64_t grain, double cost_ns, FunctionRef<void(int64_t, int64_t)> body) {
  const auto wanted = std::max<int64_t>(2, static_cast<int64_t>(cost_ns / kSharedPieceNs));
  const int64_t piece = std::max(grain, (n + wanted - 1) / wanted);
  share_loop(static_cast<int32_t>((n + piece - 1) / piece),
             [&](int64_t i) { body(i * piece, std::min(n, (i + 1) * piece)); });
}

}  // namespace

int threads_for(double total_cost_ns, double cost_per_thread_ns) noexcept {
  if (kSerial || threads_are_lost || total_cost_ns < 2 * cost_per_thread_ns) return 1;
  return static_cast<int>(std::clamp(total_cost_ns / cost_per_thread_ns, 1.0, static_cast<double>(idle_cores())));
}

void parallel_for(int64_t n, int64_t grain, double total_cost_ns, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  if (is_shared(n, grain, total_cost_ns)) return shared_for(n, grain, total_cost_ns, body);
  const double cost_ns = total_cost_ns / static_cast<double>(n);
  const auto stretch = cost_ns > 0 ? static_cast<int64_t>(std::min(kLookAgainNs / cost_ns, 1e18)) / grain * grain : n;
  for (int64_t begin = 0; begin < n;) {
    const int threads = n - begin <= grain ? 1 : threads_for(cost_ns * static_cast<double>(n - begin));
    if (threads > 1) return wide_for(begin, n, grain, threads, body);
    const int64_t end = std::min(n, begin + std::max(grain, stretch));
    body(begin, end);
    begin = end;
  }
}

void run_in_arena_of(int threads, FunctionRef<void()> body) {
  if (kSerial || threads_are_lost) {
    body();
    return;
  }
  ArenaLease lease(threads);
  if (lease.width() == 1) {
    lease.execute(body);
    return;
  }
  WideLoop loop(static_cast<int>(lease.width()));
  lease.execute(body);
}

void parallel_before_fork() noexcept {
  arenas_mutex.lock();
  if (Arenas* current = current_arenas.exchange(nullptr)) {
    threads_were_ended = current->end_threads();
    delete current;
  }
}

void parallel_after_fork(bool in_child) noexcept {
  arenas_mutex.unlock();
  if (in_child && !threads_were_ended) threads_are_lost = true;
}

}  // namespace headrace
