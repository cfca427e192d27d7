// Task: one unit of queued work, with its accesses and its body inside. Made by the pushing thread, from a slab;
// owned by the engine; freed when its body is gone and all its accesses have left their chains.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/engine.h"
#include "engine/failure.h"
#include "timeline/timeline.h"

namespace headrace {

// One task's place in the chain of one Var. engine/chain.h explains the flags.
struct Access {
  Access() noexcept {}  // Task::add_access sets the members that are in use

  std::atomic<uint32_t> flags{0};
  bool exclusive;     // conflicts with every other access; else only with exclusive ones
  bool reads;         // the task does not run when the Var is poisoned
  bool writes;        // the outcome of the task becomes the failure of the Var
  Access* successor;  // published by the flag kLinked
  Task* task;
  Var* var;
};

static_assert(sizeof(Access) == 32);

struct Task {
  static constexpr size_t kInlineAccesses = 6;
  static constexpr size_t kInlineBody = 128;

  enum class Kind : uint8_t {
    kWork,
    kWait,  // no body: tells a waiting thread that its turn has come
  };
  // Of `wait_state`, the word a waiting thread parks on.
  static constexpr uint32_t kWaiting = 0, kParked = 1, kReached = 2;

  Task() noexcept {}  // leaves the room for the body as it is

  // Work with the accesses of `spec`, one per Var; the body is not there yet.
  static Task* make_work(const TaskSpec& spec, const BodyType& type, size_t body_bytes, size_t body_alignment);
  // Work that has begun without a Task; its body is somewhere else.
  static Task* make_begun(const TaskSpec& spec);
  // A wait for the accesses of `var` queued so far: the writes, or all of them.
  static Task* make_wait(Var& var, bool for_all);
  // Drops `count` of the reasons to exist: one per access, one for who runs it, one for who waits with it.
  static void drop(Task* task, int count) noexcept;

  std::span<Access> accesses() noexcept { return {access_list, access_count}; }
  bool writes(const Var& var) noexcept;
  // Why the task must not run: the failure of the first Var that it reads and that has one; or null.
  FailurePtr failure_of_inputs() noexcept;
  void destroy_body() noexcept;

  Task* next = nullptr;  // in the one list that it is on
  int64_t sequence = 0;  // how many tasks its only pushing thread had pushed; 0 when several threads push
  const char* name = "";
  Stream* stream = nullptr;             // of an accelerator; null: runs on the host
  const BodyType* body_type = nullptr;  // null: no body (any more)
  void* body = nullptr;
  Access* access_list = inline_accesses;
  uint32_t access_count = 0;
  Kind kind = Kind::kWork;
  Priority priority = Priority::kNormal;
  bool may_block = false;
  bool keeps = false;
  int32_t urgency = 0;
  float cost_ns = 0;
  std::atomic<int32_t> waits{0};    // accesses that are not satisfied, plus one while being registered
  std::atomic<int32_t> reasons{0};  // see drop()
  std::atomic<uint32_t> wait_state{kWaiting};
  uint32_t body_bytes = 0;
  uint32_t body_alignment = 0;
  int64_t host_bytes = 0;
  FailurePtr failure;       // of a wait: what its Var carried
  timeline::Origin origin;  // where it was pushed, for the trace
  Access inline_accesses[kInlineAccesses];
  alignas(std::max_align_t) std::byte inline_body[kInlineBody];

 private:
  void add_accesses(const TaskSpec& spec);
  void add_many_accesses(const TaskSpec& spec);
  void add_access(Var* var, bool reads, bool writes) noexcept;
  void destroy() noexcept;
};

// A first-in first-out list through Task::next.
class TaskList {
 public:
  bool empty() const noexcept { return !head_; }
  void push(Task* task) noexcept {
    task->next = nullptr;
    (head_ ? tail_->next : head_) = task;
    tail_ = task;
  }
  // Keeps a list that was only filled this way in its order: the most urgent first, among these the first pushed to the
  // engine.
  void insert(Task* task) noexcept {
    if (!head_ || !goes_before(*task, *tail_)) return push(task);
    Task** place = &head_;
    while (!goes_before(*task, **place)) place = &(*place)->next;
    task->next = *place;
    *place = task;
  }
  // The first one pushed up to `last`; null: there is none.
  Task* find(int64_t last) const noexcept {
    Task* task = head_;
    while (task && task->sequence > last) task = task->next;
    return task;
  }
  // Takes out a task that is in the list.
  void remove(Task* task) noexcept {
    Task* before = nullptr;
    for (Task* one = head_; one != task; one = one->next) before = one;
    (before ? before->next : head_) = task->next;
    if (tail_ == task) tail_ = before;
  }
  // The smallest sequence; the list is not empty.
  int64_t oldest() const noexcept {
    int64_t sequence = head_->sequence;
    if (head_->urgency != tail_->urgency)
      for (const Task* task = head_->next; task; task = task->next) sequence = std::min(sequence, task->sequence);
    return sequence;
  }
  Task* pop() noexcept {
    Task* task = head_;
    if (task) head_ = task->next;
    return task;
  }
  void append(TaskList& other) noexcept {
    if (other.empty()) return;
    (head_ ? tail_->next : head_) = other.head_;
    tail_ = other.tail_;
    other.head_ = nullptr;
  }

 private:
  static bool goes_before(const Task& a, const Task& b) noexcept {
    return a.urgency != b.urgency ? a.urgency > b.urgency : a.sequence < b.sequence;
  }

  Task* head_ = nullptr;
  Task* tail_ = nullptr;  // valid while head_ is not null
};

}  // namespace headrace
