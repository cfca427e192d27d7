#include "engine/launch.h"

#include <mutex>
#include <utility>

#include "base/clock.h"
#include "device/accelerator.h"
#include "engine/device_queue.h"
#include "engine/task.h"
#include "timeline/timeline.h"

namespace headrace {

Launch::Launch(DeviceQueue& queue, Task& task) noexcept
    : queue_(queue), task_(&task), scratch_(task.stream->accelerator().device()) {}

Launch::~Launch() { FailurePtr::adopt(failure_.load(std::memory_order_relaxed)); }

void Launch::fail(FailurePtr failure) noexcept {
  const Failure* expected = nullptr;
  if (failure_.compare_exchange_strong(expected, failure.get(), std::memory_order_acq_rel))
    static_cast<void>(failure.release());
}

const char* Launch::name() const noexcept { return task_->name; }

void Launch::launch() noexcept {
  try {
    task_->body_type->run(task_->body);
  } catch (...) {
    if (task_->stream->accelerator().lost())
      fail(queue_.lost());
    else
      fail(std::current_exception());
  }
}

void Launch::fail(std::exception_ptr error) noexcept {
  failed_itself_ = true;
  fail(FailurePtr(new Failure(std::move(error), task_->name)));
}

// What the work reads was made by launches that are complete by now or, on a stream that runs behind, have been
// launched before it; where they have failed already there is nothing to compute.
bool Launch::begin() noexcept {
  has_run_ = true;
  if (failure()) return false;
  for (const LaunchPtr& input : inputs_) {
    if (FailurePtr known = input->failure()) {
      fail(std::move(known));
      return false;
    }
  }
  start_ = timeline::enabled() ? ticks() : 0;
  return true;
}

void Launch::end() noexcept {
  if (start_) [[unlikely]]
    timeline::record(task_->name, start_, ticks(), task_->origin);
}

void Launch::ran(const timeline::Track& lane, uint64_t begin, uint64_t end) noexcept {
  lane.record(task_->name, begin, end, task_->origin);
}

bool Launch::make_room() noexcept { return queue_.retire_oldest(); }

bool Launch::put_off(Task& task) {
  {
    std::lock_guard guard(lock_);
    if (is_retired_) return false;
    put_off_.push_back(&task);
  }
  event.stream->expect(event.number);
  return true;
}

// On a device that reports errors late, inputs may have failed after the work began. What they read in turn may be
// settled later, if it is on another stream. Each launch is looked at once, however often others have read it.
FailurePtr Launch::outcome() noexcept {
  if (!is_outcome_known_.load(std::memory_order_acquire)) {
    std::vector<LaunchPtr> inputs;
    {
      const std::lock_guard guard(lock_);
      inputs = inputs_;
    }
    for (const LaunchPtr& input : inputs)
      if (FailurePtr known = input->outcome()) fail(std::move(known));
    is_outcome_known_.store(true, std::memory_order_release);
  }
  return failure();
}

FailurePtr Launch::settle() noexcept {
  static_cast<void>(outcome());
  std::vector<LaunchPtr> inputs;
  {
    const std::lock_guard guard(lock_);
    inputs.swap(inputs_);
  }
  held_.clear();
  scratch_.release();
  return failure();
}

std::vector<Task*> Launch::retire() noexcept {
  std::lock_guard guard(lock_);
  is_retired_ = true;
  return std::exchange(put_off_, {});
}

}  // namespace headrace
