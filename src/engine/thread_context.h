// What one engine knows about one thread that uses it. Made at the thread's first use; shared by the engine and by
// the thread itself, which marks it dead when it ends. A later thread may take over a dead one as it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/spin_lock.h"
#include "engine/ready_queue.h"

namespace headrace {

class WorkerGroup;

// Owner: members that only the thread itself touches. Others read the atomics.
struct alignas(64) ThreadContext {
  // The thread is inside a section that needs it to be the only pushing thread (Scheduler::owner_).
  std::atomic<bool> exclusive{false};
  std::atomic<int64_t> pushed{0};      // tasks registered by this thread; written by the owner
  std::atomic<int64_t> completed{0};   // tasks completed by this thread; written by the owner
  InlineFrame* frame = nullptr;        // owner: the innermost task it runs inside push()
  int depth = 0;                       // owner: registered tasks it is running, one inside the other
  int since_check = 0;                 // owner: registrations since back-pressure was looked at
  double batch_cost_ns = 0;            // owner: of what it put into the batch since the last flush
  uint64_t batch_since = 0;            // owner: steady_ns() when it put the first of that into the batch
  std::atomic<bool> is_pusher{false};  // written by the owner under Scheduler::control_
  bool runs_on = false;                // owner: it looks for more to run after the current task
  const WorkerGroup* group = nullptr;  // the group this thread works for, if any

  alignas(64) ReadyQueue batch;  // ready tasks not handed over yet; any thread may take from it
  std::atomic<bool> dead{false};
};

// The contexts of one engine.
class ThreadRegistry {
 public:
  ThreadRegistry();
  ~ThreadRegistry();

  ThreadContext& current() {
    if (cached_.registry == id_) [[likely]]
      return *cached_.context;
    return find_or_make();
  }

  // Visits every context, dead ones too; contexts made meanwhile may be missed.
  template <class Visit>
  void visit(const Visit& visit) const {
    for (Node* node = newest_.load(std::memory_order_acquire); node; node = node->older) visit(*node->context);
  }

  // Around fork(): no other thread holds the lock while the process is copied.
  void lock_for_fork() noexcept { lock_.lock(); }
  void unlock_after_fork() noexcept { lock_.unlock(); }
  // In a forked child: only the calling thread is left.
  void forget_other_threads() noexcept;

 private:
  struct Node {
    std::shared_ptr<ThreadContext> context;
    Node* older;
  };
  struct Cached {
    uint64_t registry;
    ThreadContext* context;
  };
  [[gnu::tls_model("initial-exec")]] static thread_local constinit Cached cached_;

  struct OwnContexts;
  static OwnContexts& own_contexts();

  ThreadContext& find_or_make();
  std::shared_ptr<ThreadContext> revive_or_make();

  const uint64_t id_;                   // never used twice in a process
  std::atomic<Node*> newest_{nullptr};  // grows under lock_; nodes live as long as the registry
  SpinLock lock_;
};

}  // namespace headrace
