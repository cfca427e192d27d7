#include "backend/cpu/parallel.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/machine.h"
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

// What an arena seems to offer to those inside, and how many threads come at most.
struct Room {
  int width = 1, threads = 1;
  bool operator==(const Room&) const = default;
};

// All draw from oneTBB's one set of threads. An arena serves one loop at a time: a second loop in it would wait for a
// place.
class Arenas {
 public:
  Arenas() : handle_(tbb::attach{}) {}

  using Arena = std::unique_ptr<tbb::task_arena>;

  Arena take(Room room) {
    {
      std::lock_guard guard(lock_);
      const auto last = std::find_if(free_.rbegin(), free_.rend(), [&](const Free& one) { return one.room == room; });
      if (last != free_.rend()) {
        std::swap(*last, free_.back());
        Arena arena = std::move(free_.back().arena);
        free_.pop_back();
        return arena;
      }
    }
    // Threads of oneTBB take no places that are kept for others.
    const int kept = room.width - room.threads + 1;
    return std::make_unique<tbb::task_arena>(room.width, static_cast<unsigned>(kept));
  }
  void give_back(Room room, Arena arena) {
    Free one{room, std::move(arena)};  // another one, whose place it takes, ends without the lock
    std::lock_guard guard(lock_);
    if (free_.size() < kMostFree)
      free_.push_back(std::move(one));
    else
      std::swap(free_[next_replaced_++ % kMostFree], one);
  }

  // Ends all threads of oneTBB; false: other users of oneTBB in this process keep them. No arena is taken.
  bool end_threads() noexcept {
    free_.clear();
    return tbb::finalize(handle_, std::nothrow);
  }

 private:
  static constexpr size_t kMostFree = 128;
  struct Free {
    Room room;
    Arena arena;
  };

  tbb::task_scheduler_handle handle_;
  SpinLock lock_;
  std::vector<Free> free_;  // guarded by lock_
  size_t next_replaced_ = 0;
};

// Null until the first use, and again around a fork. Replaced only while no loop runs.
std::atomic<Arenas*> current_arenas{nullptr};
std::mutex arenas_mutex;  // guards the change of current_arenas from null

// Threads of oneTBB that wait in code of ours, so that none of them holds a lock of oneTBB's when the process is
// copied.
class HeldThreads {
 public:
  HeldThreads() : arena_(core_count(), 0) {
    for (int i = 1; i < core_count(); ++i) {
      arena_.enqueue([state = state_] {
        state->arrived.fetch_add(1);
        state->is_over.wait(false);
      });
    }
    // Fewer may come than were asked for, or later.
    constexpr auto kMost = std::chrono::milliseconds(100);
    const auto until = std::chrono::steady_clock::now() + kMost;
    while (state_->arrived.load() < core_count() - 1 && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
  }
  // In the process that they belong to.
  ~HeldThreads() {
    state_->is_over.store(true);
    state_->is_over.notify_all();
  }
  HeldThreads(const HeldThreads&) = delete;
  HeldThreads& operator=(const HeldThreads&) = delete;

 private:
  struct State {
    std::atomic<int> arrived{0};
    std::atomic<bool> is_over{false};
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  tbb::task_arena arena_;
};

// Around a fork that could not end them; guarded by arenas_mutex. In a child it stays: what oneTBB knows of these
// threads must not be touched.
HeldThreads* held_threads = nullptr;

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
  explicit ArenaLease(Room room) : owner_(arenas()), room_(room), arena_(owner_.take(room)) {}
  ~ArenaLease() { owner_.give_back(room_, std::move(arena_)); }
  ArenaLease(const ArenaLease&) = delete;
  ArenaLease& operator=(const ArenaLease&) = delete;

  void execute(FunctionRef<void()> body) {
    arena_->execute([&] { body(); });
  }

 private:
  Arenas& owner_;
  const Room room_;
  Arenas::Arena arena_;
};

void run_in(Room room, FunctionRef<void()> body) {
  ArenaLease lease(room);
  std::optional<WideLoop> loop;
  if (room.threads > 1) loop.emplace(room.threads);
  lease.execute(body);
}

// The greatest multiple of grain that is not above, or grain.
int64_t whole_grains(int64_t length, int64_t grain) noexcept { return std::max(grain, length / grain * grain); }

void wide_for(int64_t begin, int64_t end, int64_t grain, int threads, FunctionRef<void(int64_t, int64_t)> body) {
  run_in({threads, threads}, [&] {
    // A few pieces per thread even out unequal progress; more would only cost.
    const int64_t piece = whole_grains((end - begin + threads * 4 - 1) / (threads * 4), grain);
    const int64_t pieces = (end - begin + piece - 1) / piece;
    tbb::parallel_for(int64_t{0}, pieces, [&](int64_t i) {
      const int64_t first = begin + i * piece;
      body(first, std::min(end, first + piece));
    });
  });
}

// A piece of a shared loop takes about this long, or more in a loop that has enough of them to even out what threads
// do.
constexpr double kSharedPieceNs = 1'500;
constexpr double kMostSharedPairs = 8;

bool is_shared(int64_t n, int64_t grain, double cost_ns) noexcept {
  return n > grain && cost_ns >= kLeastSharedNs && cost_ns < 2 * kCostPerThreadNs && idle_cores() > 1;
}

// An even number of pieces, as mostly two threads share them: the third of three would leave one of them without work.
void shared_for(int64_t n, int64_t grain, double cost_ns, FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t pairs = std::lround(std::clamp(cost_ns / (2 * kSharedPieceNs), 1.0, kMostSharedPairs));
  const int64_t grains = (n + grain - 1) / grain, piece = (grains + 2 * pairs - 1) / (2 * pairs) * grain;
  share_loop(static_cast<int32_t>((n + piece - 1) / piece),
             [&](int64_t i) { body(i * piece, std::min(n, (i + 1) * piece)); });
}

}  // namespace

int width_for(double total_cost_ns, double cost_per_thread_ns) noexcept {
  if (kSerial || total_cost_ns < 2 * cost_per_thread_ns) return 1;
  return static_cast<int>(std::min(total_cost_ns / cost_per_thread_ns, static_cast<double>(core_count())));
}

int threads_for(double total_cost_ns, double cost_per_thread_ns) noexcept {
  return threads_are_lost ? 1 : std::min(width_for(total_cost_ns, cost_per_thread_ns), idle_cores());
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

void run_in_arena_of(int width, FunctionRef<void()> body) {
  if (kSerial) return body();
  // Outside an arena libraries would share their loops with threads that are lost.
  const int seen = threads_are_lost ? 1 : std::clamp(width, 1, core_count());
  run_in({seen, std::min(seen, idle_cores())}, body);
}

void parallel_before_fork() noexcept {
  arenas_mutex.lock();
  if (Arenas* current = current_arenas.exchange(nullptr)) {
    threads_were_ended = current->end_threads();
    delete current;
  }
  if (!threads_were_ended && !threads_are_lost) held_threads = new HeldThreads;
}

void parallel_after_fork(bool in_child) noexcept {
  HeldThreads* const held = std::exchange(held_threads, nullptr);
  if (!in_child) delete held;
  arenas_mutex.unlock();
  if (in_child && !threads_were_ended) threads_are_lost = true;
}

}  // namespace headrace
