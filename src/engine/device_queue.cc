#include "engine/device_queue.h"

#include <algorithm>

#include "base/fence.h"
#include "base/signals_blocked.h"
#include "engine/scheduler.h"
#include "trace/trace.h"

namespace headrace {

DeviceQueue::DeviceQueue(Scheduler& scheduler, Accelerator& accelerator)
    : scheduler_(scheduler), accelerator_(accelerator) {
  for (int i = 0; i < accelerator.stream_count(); ++i) lanes_.emplace_back(accelerator.stream(i));
}

DeviceQueue::~DeviceQueue() { stop(); }

// Pairs with stop(): either this thread sees that there is no other any more, or stop() sees the task.
void DeviceQueue::enqueue(Task* task) noexcept {
  lanes_[static_cast<size_t>(task->stream->index())].ready.push(task);
  light_fence();
  if (!has_thread()) start_thread();
  accelerator_.notify();
}

bool DeviceQueue::has_ready() const noexcept {
  return !std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.ready.empty(); });
}

void DeviceQueue::start_thread() {
  std::lock_guard guard(thread_mutex_);
  start_thread_locked();
}

void DeviceQueue::start_thread_locked() {
  if (thread_.joinable()) return;
  SignalsBlocked blocked;
  thread_ = std::thread([this] { work(); });
  has_thread_.store(true, std::memory_order_release);
}

void DeviceQueue::stop() noexcept {
  std::lock_guard guard(thread_mutex_);
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  accelerator_.notify();
  thread_.join();
  thread_ = {};
  has_thread_.store(false, std::memory_order_release);
  stopping_.store(false, std::memory_order_relaxed);
  heavy_fence();
  if (has_ready()) start_thread_locked();
}

void DeviceQueue::abandon() noexcept {
  if (thread_.joinable()) static_cast<void>(new std::thread(std::move(thread_)));  // cannot be destroyed unjoined
  has_thread_.store(false, std::memory_order_relaxed);
  for (Lane& lane : lanes_) {
    lane.ready.forget();
    for (LaunchPtr& launch : lane.launched) static_cast<void>(launch.release());
    lane.launched.clear();
    lane.awaited.clear();
  }
}

void DeviceQueue::work() noexcept {
  ThreadContext& context = scheduler_.enter_launcher(accelerator_.device());
  context_ = &context;
  for (;;) {
    const uint32_t seen = accelerator_.progress();
    bool moved = false, is_idle = true;
    for (Lane& lane : lanes_) {
      moved |= retire_complete(context, lane);
      moved |= launch_ready(context, lane);
      is_idle &= lane.launched.empty() && lane.ready.empty();
    }
    if (moved) continue;
    if (is_idle && stopping_.load(std::memory_order_acquire)) return;
    accelerator_.await_progress(seen);
  }
}

bool DeviceQueue::launch_ready(ThreadContext& context, Lane& lane) noexcept {
  bool moved = false;
  while (lane.launched.size() < kMostLaunched) {
    Task* const task = lane.ready.pop([](Task&) { return true; });
    if (!task) break;
    launch(context, lane, *task);
    moved = true;
  }
  if (moved && !lane.ready.empty() && !lane.launched.empty())
    lane.stream.expect(lane.launched[lane.launched.size() / 2]->event.number);
  return moved;
}

bool DeviceQueue::retire_complete(ThreadContext& context, Lane& lane) noexcept {
  if (lane.launched.empty()) return false;
  const uint64_t completed = lane.stream.completed();
  const FailurePtr failure = lost();  // behind: what was complete without having run is found to be lost
  bool moved = false;
  while (!lane.launched.empty() && (failure || lane.launched.front()->event.number <= completed)) {
    const LaunchPtr launch = std::move(lane.launched.front());
    lane.launched.pop_front();
    const bool was_complete = launch->event.number <= completed;
    if (!was_complete) lane.stream.synchronize(launch->event.number);  // nothing may touch what its body holds any more
    if (failure && (!was_complete || !launch->has_run())) launch->fail(failure);
    retire(context, *launch);
    moved = true;
  }
  return moved;
}

bool DeviceQueue::retire_oldest() noexcept {
  for (Lane& lane : lanes_) {
    if (lane.launched.empty()) continue;
    lane.stream.synchronize(lane.launched.front()->event.number);
    return retire_complete(*context_, lane);
  }
  return false;
}

FailurePtr DeviceQueue::lost() noexcept {
  const std::exception_ptr why = accelerator_.lost();
  if (!why)
    lost_ = nullptr;
  else if (!lost_)
    lost_ = scheduler_.fail(why, "device");
  return lost_;
}

void DeviceQueue::wait_on_stream(Lane& lane, const Event& event) {
  if (event.stream == &lane.stream) return;
  auto known = std::ranges::find(lane.awaited, event.stream, &Event::stream);
  if (known == lane.awaited.end()) known = lane.awaited.insert(known, {event.stream, 0});
  if (known->number >= event.number || event.stream->completed() >= event.number) return;
  lane.stream.wait(event);
  known->number = event.number;
}

// What is still at work on the Vars is collected before their failures are looked at: a launch that is retired in
// between has left its failure there.
FailurePtr DeviceQueue::put_on_stream(Lane& lane, Task& task, LaunchPtr& launched) {
  LaunchPtr launch(new Launch(*this, task));
  std::vector<LaunchPtr> others;
  for (const Access& access : task.accesses()) {
    if (access.reads)
      VarAccess::visit_uses(*access.var, false, [&](const LaunchPtr& write) { launch->depend_on(write); });
    VarAccess::visit_uses(*access.var, access.writes, [&](const LaunchPtr& other) { others.push_back(other); });
  }
  if (FailurePtr failure = task.failure_of_inputs()) return failure;
  for (const LaunchPtr& other : others) wait_on_stream(lane, other->event);
  launch->event = lane.stream.launch(*launch);
  for (const Access& access : task.accesses()) {
    FailurePtr before = VarAccess::begin_use(*access.var, launch, access.writes);
    if (access.writes && task.keeps) launch->remember(std::move(before));
  }
  launched = std::move(launch);
  return nullptr;
}

void DeviceQueue::launch(ThreadContext& context, Lane& lane, Task& task) noexcept {
  FailurePtr failure = lost();
  LaunchPtr launched;
  try {
    if (!failure) failure = put_on_stream(lane, task, launched);
  } catch (...) {
    failure = scheduler_.fail(std::current_exception(), task.name);
  }
  if (!launched) return scheduler_.end_device_task(context, task, failure);
  lane.launched.push_back(std::move(launched));
  scheduler_.pass_launched(context, task);
}

// The Vars come first: a host task that no longer finds the launch there finds its outcome.
void DeviceQueue::retire(ThreadContext& context, Launch& launch) noexcept {
  const FailurePtr failure = launch.settle();
  const bool kept = failure && launch.task().keeps;
  size_t written = 0;
  for (const Access& access : launch.task().accesses()) {
    if (access.writes && kept)
      VarAccess::end_use(*access.var, launch, launch.failure_before(written++));
    else
      VarAccess::end_use(*access.var, launch, access.writes ? failure : nullptr);
  }
  scheduler_.retire(context, launch);
}

}  // namespace headrace
