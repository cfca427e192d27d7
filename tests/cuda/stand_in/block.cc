#include "tests/cuda/stand_in/block.h"

#include <sanitizer/common_interface_defs.h>
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

namespace stand_in {
namespace {

constexpr size_t kStackBytes = 1 << 20;  // of which only what is touched is there
constexpr unsigned kWarp = 32;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

// A stack of its own, on which threads of blocks run one after the other until one has to wait.
struct Fiber {
  Fiber() : stack(::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (stack == MAP_FAILED) violation("the stand-in gets no memory for stacks");
  }
  ~Fiber() { ::munmap(stack, kStackBytes); }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void* const stack;
  ucontext_t context = {};
};

// The stack that a thread of the host came from, as AddressSanitizer knows it.
struct HostStack {
  const void* bottom = nullptr;
  size_t bytes = 0;
};

class Fibers final : public Threads {
 public:
  void wait(Barrier barrier) override {
    Thread& self = threads_[current_];
    self.state = barrier == Barrier::kBlock ? State::kAtBlock : State::kAtWarp;
    self.fiber = running_;
    leave(true);
  }

  void run(unsigned count, void (*body)(void*, unsigned), void* data) override {
    body_ = body;
    data_ = data;
    threads_.assign(count, {});
    pending_.resize(count);
    std::iota(pending_.begin(), pending_.end(), 0u);
    std::ranges::shuffle(pending_, random_);
    while (!pending_.empty()) start();
    for (;;) {
      std::vector<unsigned> ready = released();
      if (ready.empty()) return;
      std::ranges::shuffle(ready, random_);
      for (const unsigned thread : ready) resume(thread);
    }
  }

  [[noreturn]] void fail(const char* why) override { violation("%s", why); }

 private:
  enum class State : uint8_t { kRunning, kAtBlock, kAtWarp, kEnded };
  struct Thread {
    State state = State::kRunning;
    Fiber* fiber = nullptr;
  };

  static void enter() {
    if (kIsSanitized)
      __sanitizer_finish_switch_fiber(nullptr, &current_fibers()->host_.bottom, &current_fibers()->host_.bytes);
    current_fibers()->work();
  }
  static Fibers*& current_fibers() {
    thread_local Fibers* fibers = nullptr;
    return fibers;
  }

  // Threads that have not begun, one after the other.
  void work() {
    while (!pending_.empty()) {
      const unsigned thread = current_ = pending_.back();
      pending_.pop_back();
      body_(data_, thread);
      threads_[thread].state = State::kEnded;
      current_ = thread;
    }
    free_.push_back(running_);
    leave(false);
  }

  // Back to the host's stack. False: for good.
  void leave(bool comes_back) {
    void* own = nullptr;
    if (kIsSanitized) __sanitizer_start_switch_fiber(comes_back ? &own : nullptr, host_.bottom, host_.bytes);
    ::swapcontext(&running_->context, &scheduler_);
    if (kIsSanitized) __sanitizer_finish_switch_fiber(own, &host_.bottom, &host_.bytes);
  }

  // From the host's stack, until the fiber leaves.
  void run_fiber() {
    void* own = nullptr;
    if (kIsSanitized) __sanitizer_start_switch_fiber(&own, running_->stack, kStackBytes);
    ::swapcontext(&scheduler_, &running_->context);
    if (kIsSanitized) __sanitizer_finish_switch_fiber(own, nullptr, nullptr);
  }

  void start() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Fiber>());
      free_.push_back(all_.back().get());
    }
    running_ = free_.back();
    free_.pop_back();
    ::getcontext(&running_->context);
    running_->context.uc_stack = {.ss_sp = running_->stack, .ss_flags = 0, .ss_size = kStackBytes};
    running_->context.uc_link = nullptr;
    current_fibers() = this;
    ::makecontext(&running_->context, enter, 0);
    run_fiber();
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
  HostStack host_;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> free_;
  std::minstd_rand random_;
};

}  // namespace

// Kept by the thread, and with it the stacks. One after the other, as all that a stream runs.
Threads& threads_of_block() {
  thread_local Fibers fibers;
  return fibers;
}

}  // namespace stand_in
