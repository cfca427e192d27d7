#include "device/shared_loop.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>

#include "base/clock.h"
#include "base/spin_lock.h"
#include "device/cores.h"

namespace headrace {
namespace {

// What a loop does, on its owner's stack.
struct LoopWork {
  FunctionRef<void(int64_t)> body;
  int core;  // of the owner
  SpinLock lock = {};
  std::exception_ptr error = nullptr;  // guarded by lock
};

enum class Outcome {
  kAlone,  // nobody joined
  kJoined,
  kHeldUp,  // a thread joined and lost its core: the owner had to wait for it
};

// A place for one loop. The owner takes it, opens it to others and closes it again; nobody enters a closed one.
class alignas(64) SharedLoop {
 public:
  bool try_take() noexcept {
    uint32_t free = 0;
    return state_.load(std::memory_order_relaxed) == 0 &&
           state_.compare_exchange_strong(free, kTaken, std::memory_order_acquire, std::memory_order_relaxed);
  }

  // The owner's part: runs the loop, gives the place back.
  Outcome run(int32_t pieces, FunctionRef<void(int64_t)> body) {
    LoopWork work{body, sched_getcpu()};
    work_ = &work;
    left_.store(pack(0, static_cast<uint32_t>(pieces)), std::memory_order_relaxed);
    state_.store(kTaken | kOpen, std::memory_order_release);
    run_pieces();
    state_.fetch_and(~kOpen, std::memory_order_relaxed);
    const Outcome outcome = await_threads();
    state_.store(0, std::memory_order_release);
    if (work.error) std::rethrow_exception(work.error);
    return outcome;
  }

  bool join() noexcept {
    uint32_t state = state_.load(std::memory_order_relaxed);
    if (!(state & kOpen) || is_empty(left_.load(std::memory_order_relaxed))) return false;
    do {
      if (!(state & kOpen)) return false;
    } while (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed));
    const bool helps = sched_getcpu() != work_->core;  // else it has taken the core from the owner
    if (helps) {
      state_.fetch_or(kJoined, std::memory_order_relaxed);
      const BusyThread busy;
      run_pieces();
    }
    state_.fetch_sub(1, std::memory_order_release);
    return helps;
  }

  void forget() noexcept { state_.store(0, std::memory_order_relaxed); }

 private:
  // state_: how many threads have joined and not left, and
  static constexpr uint32_t kThreads = 0xffff, kJoined = 1u << 16, kOpen = 1u << 17, kTaken = 1u << 18;
  static constexpr int kPausesBeforeYield = 1000;  // tens of microseconds
  static constexpr uint64_t kLongNs = 300'000;     // no piece takes as long
  static constexpr int64_t kNone = -1;

  Outcome await_threads() noexcept {
    uint64_t since = 0;
    uint32_t state = 0;
    for (int tries = 0; (state = state_.load(std::memory_order_acquire)) & kThreads; ++tries) {
      cpu_pause();
      if (tries < kPausesBeforeYield) continue;
      if (!since) since = steady_ns();
      sched_yield();
    }
    if (since && steady_ns() - since > kLongNs) return Outcome::kHeldUp;
    return state & kJoined ? Outcome::kJoined : Outcome::kAlone;
  }

  static uint64_t pack(uint64_t first, uint64_t end) noexcept { return end << 32 | first; }
  static uint32_t first_of(uint64_t left) noexcept { return static_cast<uint32_t>(left); }
  static uint32_t end_of(uint64_t left) noexcept { return static_cast<uint32_t>(left >> 32); }
  static bool is_empty(uint64_t left) noexcept { return first_of(left) >= end_of(left); }

  int64_t take_first() noexcept {
    uint64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (is_empty(left)) return kNone;
    } while (!left_.compare_exchange_weak(left, left + 1, std::memory_order_relaxed));
    return first_of(left);
  }

  int64_t take_last() noexcept {
    uint64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (is_empty(left)) return kNone;
    } while (!left_.compare_exchange_weak(left, pack(first_of(left), end_of(left) - 1), std::memory_order_relaxed));
    return end_of(left) - 1;
  }

  void run_pieces() noexcept {
    const bool from_end = sched_getcpu() & 1;
    try {
      for (int64_t piece; (piece = from_end ? take_last() : take_first()) != kNone;) work_->body(piece);
    } catch (...) {
      left_.store(0, std::memory_order_relaxed);
      const std::lock_guard guard(work_->lock);
      if (!work_->error) work_->error = std::current_exception();
    }
  }

  std::atomic<uint32_t> state_{0};
  alignas(64) std::atomic<uint64_t> left_{0};  // pieces that nobody has taken: first and end
  LoopWork* work_ = nullptr;                   // written by the owner before it opens
};

// More loops than this at a time run without company.
constexpr int kLoops = 4;
constinit std::array<SharedLoop, kLoops> loops;

// Whether company is worth looking for. Approximate: threads change it without regard to each other.
class Company {
 public:
  // Where other processes have the cores, loops are not shared for a while.
  bool is_wanted() noexcept {
    const uint64_t until = avoided_until_.load(std::memory_order_relaxed);
    if (until == 0) return true;
    if (steady_ns() < until) return false;
    avoided_until_.store(0, std::memory_order_relaxed);
    return true;
  }

  void note(Outcome outcome) noexcept {
    if (outcome == Outcome::kAlone) {
      alone_.store(alone_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    set(alone_, 0);
    set(patience_, kLeastPatience);
    if (outcome == Outcome::kHeldUp) avoided_until_.store(steady_ns() + kAvoidedNs, std::memory_order_relaxed);
  }

  bool is_missed() noexcept {
    const int enough = patience_.load(std::memory_order_relaxed);
    if (alone_.load(std::memory_order_relaxed) < enough) return false;
    alone_.store(0, std::memory_order_relaxed);
    patience_.store(std::min(2 * enough, kMostPatience), std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr int kLeastPatience = 1, kMostPatience = 1 << 16;  // loops
  static constexpr uint64_t kAvoidedNs = 12'000'000;  // several times as long as a thread stays without a core

  // Without taking the cache line from other cores where nothing changes.
  static void set(std::atomic<int>& variable, int value) noexcept {
    if (variable.load(std::memory_order_relaxed) != value) variable.store(value, std::memory_order_relaxed);
  }

  std::atomic<int> alone_{0};  // loops in a row that nobody joined
  std::atomic<int> patience_{kLeastPatience};
  std::atomic<uint64_t> avoided_until_{0};  // steady_ns(); 0: loops are shared
};

constinit Company company;

}  // namespace

void share_loop(int32_t pieces, FunctionRef<void(int64_t)> body) {
  if (pieces > 1 && company.is_wanted()) {
    const auto place = std::ranges::find_if(loops, &SharedLoop::try_take);
    if (place != loops.end()) return company.note(place->run(pieces, body));
  }
  for (int32_t piece = 0; piece < pieces; ++piece) body(piece);
}

bool join_shared_loops() noexcept {
  bool joined = false;
  for (SharedLoop& loop : loops) joined |= loop.join();
  return joined;
}

bool shared_loops_lack_threads() noexcept { return company.is_missed(); }

void forget_shared_loops() noexcept {
  for (SharedLoop& loop : loops) loop.forget();
}

}  // namespace headrace
