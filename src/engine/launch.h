// Launch: a task that was put on a stream and is not retired: the host has not yet taken note of its end. Shared by
// the device queue that launched it, by the Vars that the stream is still using, and by later launches that are to
// fail with it.
#pragma once

#include <atomic>
#include <vector>

#include "base/ref_counted.h"
#include "base/slab.h"
#include "base/spin_lock.h"
#include "device/scratch.h"
#include "device/stream.h"
#include "engine/failure.h"

namespace headrace {

class DeviceQueue;
class Launch;
struct Task;
using LaunchPtr = IntrusivePtr<Launch>;

class Launch final : public RefCounted<Launch>, public Work {
 public:
  Launch(DeviceQueue& queue, Task& task) noexcept;
  ~Launch();

  // Until it is retired.
  Task& task() const noexcept { return *task_; }

  // Launching thread, before launch: this one fails when `other` does.
  void depend_on(LaunchPtr other) { inputs_.push_back(std::move(other)); }
  // Launching thread, after launch, of a task that keeps: the failure that a Var had which it writes, in the order of
  // its accesses. Nothing else was at work on it.
  void remember(FailurePtr before) { before_.push_back(std::move(before)); }
  const FailurePtr& failure_before(size_t written) const noexcept { return before_[written]; }

  // The task's name and body, and what becomes of it on the stream.
  const char* name() const noexcept override;
  void launch() noexcept override;
  bool begin() noexcept override;
  void end() noexcept override;
  void ran(const timeline::Track& lane, uint64_t begin, uint64_t end) noexcept override;
  void fail(std::exception_ptr error) noexcept override;
  void* take_scratch(size_t bytes) override { return scratch_.take(bytes); }
  void give_back_scratch(void* block) noexcept override { scratch_.give_back(block); }
  void hold(std::shared_ptr<const void> object) override { held_.push_back(std::move(object)); }
  bool make_room() noexcept override;

  // Known when the work is complete. A failure stays; later ones are ignored.
  FailurePtr failure() const noexcept { return FailurePtr(failure_.load(std::memory_order_acquire)); }
  void fail(FailurePtr failure) noexcept;
  // What follows is known when the work is complete.
  // The work itself threw: nobody has heard of the failure yet.
  bool failed_itself() const noexcept { return failed_itself_; }
  // A lost device may complete work without running it.
  bool has_run() const noexcept { return has_run_; }

  // Puts off `task`, a task of the host, until this launch is retired; false: it is. Any thread.
  bool put_off(Task& task);
  // The work is complete, and so is what it has read: what became of it. Any thread.
  FailurePtr outcome() noexcept;
  // The work is complete: releases its scratch and gives what became of it.
  FailurePtr settle() noexcept;
  // The launch is over, and its Vars show it: gives the tasks that were put off. Once.
  std::vector<Task*> retire() noexcept;

  Event event;  // its end; written by the launching thread before others see the launch

  static void* operator new(size_t size) { return slab_allocate(size); }
  static void operator delete(void* pointer, size_t size) noexcept { slab_release(pointer, size); }

 private:
  DeviceQueue& queue_;
  Task* const task_;
  Scratch scratch_;
  std::vector<std::shared_ptr<const void>> held_;
  std::vector<LaunchPtr> inputs_;  // once others see the launch: taken away, and read by them, under lock_
  std::atomic<bool> is_outcome_known_{false};
  std::vector<FailurePtr> before_;
  std::atomic<const Failure*> failure_{nullptr};  // with one reference
  bool failed_itself_ = false;                    // these two: written before the work is complete
  bool has_run_ = false;
  uint64_t start_ = 0;  // for the timeline; 0: it was not recorded then
  SpinLock lock_;
  bool is_retired_ = false;     // guarded by lock_
  std::vector<Task*> put_off_;  // guarded by lock_
};

// What streams are doing with the contents of one Var, in addition to its failure. Reached through VarAccess alone.
struct StreamUses {
  FailurePtr failure;            // of the newest write, if that is over
  LaunchPtr write;               // the newest write, unless it is over
  std::vector<LaunchPtr> reads;  // what else is at work on the contents

  bool empty() const noexcept { return !write && reads.empty(); }
};

}  // namespace headrace
