// The engine runs tasks in an order that respects what they read and write. A task is pushed with the Vars it
// accesses; it runs once after all earlier conflicting tasks, possibly before push() returns, possibly on another
// thread. docs/engine.md explains how and why.
//
// Threads: every function may be called from any thread, also from a running task. A task that waits, takes a lock
// that pushing threads hold, or runs for a long time for other reasons than arithmetic must say `may_block`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "base/config.h"
#include "base/function_ref.h"
#include "engine/var.h"

namespace headrace {

class PushObserver;
class Stream;

enum class Priority : uint8_t { kHigh, kNormal, kLow };

struct TaskSpec {
  const char* name = "";                   // a literal or another text that is never freed
  std::span<Var*const> reads{}, writes{};  // may repeat and overlap; a Var in both is read and written
  double cost_ns = 0;  // estimated, on one core; below Engine::kInlineCostNs the pushing thread may run it
  Priority priority = Priority::kNormal;
  int urgency = 0;            // of ready tasks of one priority the most urgent goes first, then the oldest
  int64_t host_bytes = 0;     // memory that the frontend made for this task alone (back-pressure)
  bool fresh_writes = false;  // no other handle to the written Vars exists yet
  bool may_block = false;     // runs on threads of its own, never inside a push or a wait
  bool keeps = false;         // fails only before it writes: what it writes then keeps its value (see raise_kept)
  Stream* stream = nullptr;   // of the accelerator that runs it; null: the host does
  double flops = 0;           // of arithmetic that counts, and bytes read and written: for an observer, if there is one
  double bytes = 0;
};

// How bodies of one type run together: a body and others, each of which waits for nothing but earlier ones of the
// group. The thread that runs the group calls these functions; all bodies are queued and none has begun.
struct GroupType {
  bool (*can_lead)(const void* body) noexcept;
  // Whether `next` can be the next one of a group.
  bool (*can_join)(std::span<void* const> group, const void* next) noexcept;
  // Does what running the bodies in turn would do; gives its name for the timeline, a text that is never freed. What it
  // throws it throws before it has changed anything: then the bodies run in turn.
  const char* (*run)(std::span<void* const> group);
};

// How the engine handles a body whose type it does not know.
struct BodyType {
  void (*run)(void* body);
  void (*destroy)(void* body) noexcept;
  const GroupType* group;  // null: bodies of this type always run alone
};

template <class Body>
constexpr const GroupType* group_type_of() {
  if constexpr (requires { Body::kGroup; }) return &Body::kGroup;
  return nullptr;
}

// A body type may have a static member `kGroup`, its GroupType.
template <class Body>
inline constexpr BodyType kBodyType = {
    [](void* body) { (*static_cast<Body*>(body))(); },
    [](void* body) noexcept { static_cast<Body*>(body)->~Body(); },
    group_type_of<Body>(),
};

struct Task;
class Scheduler;
class SerialEngine;

// A task that the pushing thread runs inside push(); lives on its stack meanwhile.
struct InlineFrame {
  const TaskSpec* spec = nullptr;
  InlineFrame* outer = nullptr;  // the next one of this thread
  Task* promoted = nullptr;      // its registered form, made when its body pushes or waits
  uint64_t start = 0;            // for the trace
};

class Engine {
 public:
  static constexpr double kInlineCostNs = 2000;

  explicit Engine(const Config& config);
  ~Engine();  // drains and joins
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Queues `body`, a movable callable `void()`, to run after all earlier tasks that conflict with it. The body owns
  // what it touches. It is destroyed after it ran or was skipped, and after its accesses were completed. It does not
  // run when a Var it reads is poisoned; the Vars it writes then carry the same error. What it throws is kept on the
  // Vars it writes. Raises nothing but std::bad_alloc and what moving the body raises.
  template <class Body>
  void push(const TaskSpec& spec, Body&& body) {
    std::decay_t<Body> local(std::forward<Body>(body));
    push(spec, local, [&]() -> std::decay_t<Body> { return std::move(local); });
  }

  // The same for a body that is dear to make: `now()` does the work within this call, on what the caller holds; only
  // when the work has to be queued, `make_body()` gives the body that will do it.
  template <class Now, class MakeBody>
  void push(const TaskSpec& spec, Now&& now, MakeBody&& make_body) {
    using Stored = std::invoke_result_t<MakeBody>;
    if (observer()) [[unlikely]]
      report(spec);
    static_assert(std::is_nothrow_move_constructible_v<Stored>);
    InlineFrame frame;
    switch (begin_inline(spec, frame)) {
      case Inline::kRun:
        try {
          if (spec.stream) [[unlikely]]
            run_on_stream(spec, now);
          else
            now();
        } catch (...) {
          end_inline(frame, std::current_exception());
          return;
        }
        end_inline(frame, nullptr);
        return;
      case Inline::kSkip:
        return;
      case Inline::kNo:
        break;
    }
    Stored body = make_body();
    const Pending pending = make_task(spec, kBodyType<Stored>, sizeof(Stored), alignof(Stored));
    new (pending.body_place) Stored(std::move(body));
    submit(pending.task);
  }

  // Waits until the last write queued so far is done; rethrows the error of the Var, every time.
  void wait_to_read(Var& var);
  // Waits until every access queued so far is done; rethrows likewise.
  void wait_to_write(Var& var);
  // Like wait_to_read for at most `limit`, and for as long once more each time that `again`, which must not throw, says
  // so; false: not done yet.
  bool wait_to_read_for(
      Var& var, std::chrono::nanoseconds limit, FunctionRef<bool()> again = [] { return false; });
  bool wait_to_write_for(
      Var& var, std::chrono::nanoseconds limit, FunctionRef<bool()> again = [] { return false; });
  // Waits until nothing is queued or running, then raises the oldest error that no wait has raised yet. One call
  // raises one error; the next call raises the next one that says something else.
  void wait_all();
  bool wait_all_for(std::chrono::nanoseconds limit);

  // Raises the oldest error for which a task that `keeps` has not happened, unless a wait has raised it. No waiting:
  // what such a task was to write does not show the error, so the program that pushed it asks here.
  void raise_kept();

  // For a thread that goes to wait for something else than tasks: others may begin at once what it has pushed, and was
  // left to it as it would soon wait for it.
  void hand_over() noexcept;

  // Waits until nothing is queued or running; errors stay where they are.
  void drain() noexcept;

  int worker_count() const noexcept;
  bool serial() const noexcept;
  // Whether no task runs, or could, but those that may block; of a serial engine, whose tasks run in the thread that
  // pushes them, always.
  bool rests() const noexcept;
  // Whether a thread that is in no task sleeps until tasks are done; of a serial engine, in which it may be in one,
  // always.
  bool is_awaited() const noexcept;
  int64_t pending() const noexcept;  // tasks queued or running, counted without stopping anyone

  // Somebody who hears of every push and every wait from now on; null: nobody. It must live until it is replaced and
  // drain() has returned.
  void observe(PushObserver* observer) noexcept { observer_.store(observer, std::memory_order_release); }
  PushObserver* observer() const noexcept { return observer_.load(std::memory_order_acquire); }

  // Runs everything queued and ends the threads; a later push starts them again. Does nothing inside a task.
  void shutdown() noexcept;

  // Prints the errors that no wait has raised and forgets them. Whether there were any.
  bool report_unread_errors() noexcept;

  // Around fork(), in the forking thread: the engine is drained and without threads after the first, locked between
  // the second and the third.
  void quiesce_for_fork() noexcept;
  void lock_for_fork() noexcept;
  void after_fork(bool in_child) noexcept;

 private:
  enum class Inline { kNo, kRun, kSkip };
  struct Pending {
    Task* task;
    void* body_place;
  };

  Inline begin_inline(const TaskSpec& spec, InlineFrame& frame);
  void end_inline(InlineFrame& frame, const std::exception_ptr& error) noexcept;
  Pending make_task(const TaskSpec& spec, const BodyType& type, size_t bytes, size_t alignment);
  void submit(Task* task);

  friend class Scheduler;

  bool wait(Var& var, bool for_all, std::chrono::nanoseconds limit, FunctionRef<bool()> again);
  void report(const TaskSpec& spec) noexcept;
  // Runs the task's work on its stream and waits for it; raises what it throws, and what has lost the device meanwhile.
  static void run_on_stream(const TaskSpec& spec, FunctionRef<void()> work);

  std::atomic<PushObserver*> observer_{nullptr};
  // Exactly one of the two exists.
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<SerialEngine> serial_;
};

}  // namespace headrace
