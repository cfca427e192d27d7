// The engine's side of one accelerator: its ready tasks, by stream, and the thread that launches them and notes their
// end. A task is launched as soon as its chains are satisfied: what streams are still doing to its Vars it waits for on
// the device. Everything behind a launch in the chains goes on at once; only host tasks are put off until the launch
// is retired. Owned by the Scheduler.
#pragma once

#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "device/accelerator.h"
#include "engine/launch.h"
#include "engine/ready_queue.h"

namespace headrace {

class Scheduler;
struct ThreadContext;

class DeviceQueue {
 public:
  DeviceQueue(Scheduler& scheduler, Accelerator& accelerator);
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  // Takes a task of one of the accelerator's streams, whose chains are satisfied. Any thread.
  void enqueue(Task* task) noexcept;
  // Ends the thread, when nothing is queued or launched; the next task starts it again, also one that comes meanwhile.
  void stop() noexcept;
  // For work that is being launched, in the launch thread: waits for the end of the oldest launch of a stream and takes
  // note of it, which releases what it held. False: nothing is launched.
  bool retire_oldest() noexcept;
  // Null, or what has lost the device: one failure for all that it fails to do. The launch thread.
  FailurePtr lost() noexcept;
  bool has_thread() const noexcept { return has_thread_.load(std::memory_order_acquire); }

  // Around fork(), after stop(): no other thread holds the lock.
  void lock_for_fork() noexcept { thread_mutex_.lock(); }
  void unlock_after_fork() noexcept { thread_mutex_.unlock(); }
  // In a child of a process that was not stopped: thread and tasks are gone.
  void abandon() noexcept;

 private:
  // Enough to keep a stream busy while the host is slow; few enough for priorities to matter among what is ready and
  // for memory to follow what runs.
  static constexpr size_t kMostLaunched = 32;

  struct StreamState {
    explicit StreamState(Stream& of) : stream(of) {}
    Stream& stream;
    ReadyQueue ready;
    // The launch thread's:
    std::deque<LaunchPtr> launched;  // oldest first
    std::vector<Event> awaited;      // by other stream, the newest event that this one waits for
  };

  bool has_ready() const noexcept;
  void start_thread();
  void start_thread_locked();
  void work() noexcept;
  bool launch_ready(ThreadContext& context, StreamState& state) noexcept;
  bool retire_complete(ThreadContext& context, StreamState& state) noexcept;
  void launch(ThreadContext& context, StreamState& state, Task& task) noexcept;
  FailurePtr put_on_stream(StreamState& state, Task& task, LaunchPtr& launched);  // null: `launched` is
  void wait_on_stream(StreamState& state, const Event& event);
  void retire(ThreadContext& context, Launch& launch) noexcept;
  std::string what_runs() const;

  Scheduler& scheduler_;
  Accelerator& accelerator_;
  std::deque<StreamState> streams_;   // by index of the stream; constant
  FailurePtr lost_;                   // launch thread: what lost() gives
  ThreadContext* context_ = nullptr;  // of the launch thread, which alone reads it

  std::mutex thread_mutex_;
  std::thread thread_;  // guarded by thread_mutex_
  std::atomic<bool> has_thread_{false};
  std::atomic<bool> stopping_{false};
};

}  // namespace headrace
