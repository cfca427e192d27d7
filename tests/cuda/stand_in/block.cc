#include "tests/cuda/stand_in/block.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "tests/cuda/stand_in/kernel.h"
#include "tests/cuda/stand_in/machine.h"
#include "tests/cuda/stand_in/seen_stack.h"

namespace stand_in {
namespace {

constexpr size_t kStackBytes = 1 << 20;  // of which only what is touched is there
constexpr unsigned kWarp = 32;

// A stack of its own, on which threads of blocks run one after the other until one has to wait. Where races are looked
// for, those of one block have one each.
struct Fiber {
  Fiber() : stack(::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (stack == MAP_FAILED) violation("the stand-in gets no memory for stacks");
    seen = new_stack(stack, kStackBytes);
  }
  ~Fiber() {
    forget(seen);
    ::munmap(stack, kStackBytes);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void* const stack;
  ucontext_t context = {};
  SeenStack seen;
};

class Fibers final : public Threads {
 public:
  void wait(Barrier barrier) override {
    look(false);
    Thread& self = threads_[current_];
    self.state = barrier == Barrier::kBlock ? State::kAtBlock : State::kAtWarp;
    self.fiber = running_;
    char* const place = barrier == Barrier::kBlock ? &at_block_ : &at_warp_[current_ / kWarp];
    part(place);
    leave();
    meet(place);
    look(true);
  }

  void run(unsigned count, void (*body)(void*, unsigned), void* data) override {
    body_ = body;
    data_ = data;
    threads_.assign(count, {});
    at_warp_.resize((count + kWarp - 1) / kWarp);
    pending_.resize(count);
    std::iota(pending_.begin(), pending_.end(), 0u);
    std::ranges::shuffle(pending_, random_);
    host_ = stack_of_host();
    part(&at_begin_);
    while (!pending_.empty()) start();
    for (;;) {
      std::vector<unsigned> ready = released();
      if (ready.empty()) break;
      std::ranges::shuffle(ready, random_);
      for (const unsigned thread : ready) resume(thread);
    }
    meet(&at_end_);
    free_.insert(free_.end(), ended_.begin(), ended_.end());
    ended_.clear();
  }

  [[noreturn]] void fail(const char* why) override { violation("%s", why); }

 private:
  enum class State : uint8_t { kRunning, kAtBlock, kAtWarp, kEnded };
  struct Thread {
    State state = State::kRunning;
    Fiber* fiber = nullptr;
  };

  static void enter() {
    look(false);
    current_fibers()->work();
  }
  static Fibers*& current_fibers() {
    thread_local Fibers* fibers = nullptr;
    return fibers;
  }

  // Threads that have not begun, one after the other, for as long as the fiber is.
  [[noreturn]] void work() {
    comes(running_->seen, host_);
    for (;;) {
      do {
        const unsigned thread = current_ = pending_.back();
        pending_.pop_back();
        meet(&at_begin_);
        look(true);
        body_(data_, thread);
        look(false);
        for (char* place : {&at_block_, &at_warp_[thread / kWarp], &at_end_}) part(place);
        threads_[thread].state = State::kEnded;
        current_ = thread;
      } while (!kSeesRaces && !pending_.empty());
      (kSeesRaces ? ended_ : free_).push_back(running_);
      leave();
    }
  }

  // Back to the host's stack, until that goes on here.
  void leave() {
    Fiber& own = *running_;
    leaves(own.seen, host_);
    ::swapcontext(&own.context, &scheduler_);
    comes(own.seen, host_);
  }

  // From the host's stack, until the fiber leaves.
  void run_fiber() {
    Fiber& other = *running_;
    leaves(host_, other.seen);
    ::swapcontext(&scheduler_, &other.context);
    comes(host_, other.seen);
  }

  void start() {
    if (free_.empty()) free_.push_back(new_fiber());
    running_ = free_.back();
    free_.pop_back();
    run_fiber();
  }

  Fiber* new_fiber() {
    Fiber& made = *all_.emplace_back(std::make_unique<Fiber>());
    ::getcontext(&made.context);
    made.context.uc_stack = {.ss_sp = made.stack, .ss_flags = 0, .ss_size = kStackBytes};
    made.context.uc_link = nullptr;
    current_fibers() = this;
    ::makecontext(&made.context, enter, 0);
    return &made;
  }

  void resume(unsigned thread) {
    current_ = thread;
    threads_[thread].state = State::kRunning;
    running_ = threads_[thread].fiber;
    run_fiber();
  }

  // Threads whose barrier all others have reached: those of whole warps first.
  std::vector<unsigned> released() const {
    const auto count = static_cast<unsigned>(threads_.size());
    std::vector<unsigned> ready, at_block;
    bool waits_for_warp = false;
    for (unsigned first = 0; first < count; first += kWarp) {
      std::vector<unsigned> at_warp;
      bool is_whole = true;
      for (unsigned t = first; t < std::min(count, first + kWarp); ++t) {
        if (threads_[t].state == State::kAtWarp) at_warp.push_back(t);
        if (threads_[t].state == State::kAtBlock) at_block.push_back(t), is_whole = false;
      }
      if (is_whole)
        ready.insert(ready.end(), at_warp.begin(), at_warp.end());
      else
        waits_for_warp |= !at_warp.empty();
    }
    if (!ready.empty()) return ready;
    if (waits_for_warp) violation("threads of one warp wait at different barriers");
    return at_block;
  }

  void (*body_)(void*, unsigned) = nullptr;
  void* data_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<unsigned> pending_;
  unsigned current_ = 0;
  Fiber* running_ = nullptr;
  ucontext_t scheduler_ = {};
  SeenStack host_;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> free_, ended_;
  // Where threads meet, for ThreadSanitizer; the addresses count.
  char at_begin_ = 0, at_end_ = 0, at_block_ = 0;
  std::vector<char> at_warp_;
  std::minstd_rand random_;
};

}  // namespace

// Kept by the thread, and with it the stacks. One after the other, as all that a stream runs.
Threads& threads_of_block() {
  thread_local Fibers fibers;
  return fibers;
}

}  // namespace stand_in
