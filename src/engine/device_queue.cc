#include "engine/device_queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fence.h"
#include "base/signals_blocked.h"
#include "engine/scheduler.h"
#include "timeline/timeline.h"

namespace headrace {

DeviceQueue::DeviceQueue(Scheduler& scheduler, Accelerator& accelerator)
    : scheduler_(scheduler), accelerator_(accelerator) {
  for (int i = 0; i < accelerator.stream_count(); ++i) streams_.emplace_back(accelerator.stream(i));
}

DeviceQueue::~DeviceQueue() { stop(); }

// Pairs with stop(): either this thread sees that there is no other any more, or stop() sees the task.
void DeviceQueue::enqueue(Task* task) noexcept {
  streams_[static_cast<size_t>(task->stream->index())].ready.push(task);
  light_fence();
  if (!has_thread()) start_thread();
  accelerator_.notify();
}

bool DeviceQueue::has_ready() const noexcept {
  return !std::ranges::all_of(streams_, [](const StreamState& state) { return state.ready.empty(); });
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
  for (StreamState& state : streams_) {
    state.ready.forget();
    for (LaunchPtr& launch : state.launched) static_cast<void>(launch.release());
    state.launched.clear();
    state.awaited.clear();
  }
}

void DeviceQueue::work() noexcept {
  ThreadContext& context = scheduler_.enter_launcher(accelerator_.device());
  context_ = &context;
  for (;;) {
    const uint32_t seen = accelerator_.progress();
    bool moved = false, is_idle = true;
    for (StreamState& state : streams_) {
      moved |= retire_complete(context, state);
      moved |= launch_ready(context, state);
      is_idle &= state.launched.empty() && state.ready.empty();
    }
    if (moved) continue;
    if (is_idle && stopping_.load(std::memory_order_acquire)) return;
    accelerator_.await_progress(seen);
  }
}

bool DeviceQueue::launch_ready(ThreadContext& context, StreamState& state) noexcept {
  bool moved = false;
  while (state.launched.size() < kMostLaunched) {
    Task* const task = state.ready.pop([](Task&) { return true; });
    if (!task) break;
    launch(context, state, *task);
    moved = true;
  }
  if (moved && !state.ready.empty() && !state.launched.empty())
    state.stream.expect(state.launched[state.launched.size() / 2]->event.number);
  return moved;
}

bool DeviceQueue::retire_complete(ThreadContext& context, StreamState& state) noexcept {
  if (state.launched.empty()) return false;
  const uint64_t completed = state.stream.completed();
  state.stream.report_times(completed);
  const FailurePtr failure = lost();  // behind: what was complete without having run is found to be lost
  bool moved = false;
  while (!state.launched.empty() && (failure || state.launched.front()->event.number <= completed)) {
    const LaunchPtr launch = std::move(state.launched.front());
    state.launched.pop_front();
    const bool was_complete = launch->event.number <= completed;
    if (!was_complete)
      state.stream.synchronize(launch->event.number);  // nothing may touch what its body holds any more
    if (failure && (!was_complete || !launch->has_run())) launch->fail(failure);
    retire(context, *launch);
    moved = true;
  }
  return moved;
}

bool DeviceQueue::retire_oldest() noexcept {
  for (StreamState& state : streams_) {
    if (state.launched.empty()) continue;
    state.stream.synchronize(state.launched.front()->event.number);
    return retire_complete(*context_, state);
  }
  return false;
}

FailurePtr DeviceQueue::lost() noexcept {
  const std::exception_ptr why = accelerator_.lost();
  if (!why)
    lost_ = nullptr;
  else if (!lost_)
    lost_ = scheduler_.fail(loss_during(why, what_runs()), "device");
  return lost_;
}

// What is launched and not complete, from the oldest on: the operation that failed is among it, or lies before where a
// device reports late.
std::string DeviceQueue::what_runs() const {
  constexpr size_t kMostNamed = 8;
  std::string names;
  size_t count = 0;
  for (const StreamState& state : streams_) {
    const uint64_t completed = state.stream.completed();
    for (const LaunchPtr& launch : state.launched) {
      if (launch->event.number <= completed || ++count > kMostNamed) continue;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", launch->task().name);
    }
  }
  if (names.empty()) names = "nothing that is known";
  if (count > kMostNamed) names += fmt::format(" and {} more", count - kMostNamed);
  return fmt::format("It was running {}; HEADRACE_ENGINE=serial tells which operation fails.", names);
}

void DeviceQueue::wait_on_stream(StreamState& state, const Event& event) {
  if (event.stream == &state.stream) return;
  auto known = std::ranges::find(state.awaited, event.stream, &Event::stream);
  if (known == state.awaited.end()) known = state.awaited.insert(known, {event.stream, 0});
  if (known->number >= event.number || event.stream->completed() >= event.number) return;
  state.stream.wait(event);
  known->number = event.number;
}

// What is still at work on the Vars is collected before their failures are looked at: a launch that is retired in
// between has left its failure there.
FailurePtr DeviceQueue::put_on_stream(StreamState& state, Task& task, LaunchPtr& launched) {
  LaunchPtr launch(new Launch(*this, task));
  std::vector<LaunchPtr> others;
  for (const Access& access : task.accesses()) {
    if (access.reads)
      VarAccess::visit_uses(*access.var, false, [&](const LaunchPtr& write) { launch->depend_on(write); });
    VarAccess::visit_uses(*access.var, access.writes, [&](const LaunchPtr& other) { others.push_back(other); });
  }
  if (FailurePtr failure = task.failure_of_inputs()) return failure;
  for (const LaunchPtr& other : others) wait_on_stream(state, other->event);
  launch->event = state.stream.launch(*launch);
  for (const Access& access : task.accesses()) {
    FailurePtr before = VarAccess::begin_use(*access.var, launch, access.writes);
    if (access.writes && task.keeps) launch->remember(std::move(before));
  }
  launched = std::move(launch);
  return nullptr;
}

void DeviceQueue::launch(ThreadContext& context, StreamState& state, Task& task) noexcept {
  FailurePtr failure = lost();
  LaunchPtr launched;
  try {
    if (!failure) failure = put_on_stream(state, task, launched);
  } catch (...) {
    failure = scheduler_.fail(std::current_exception(), task.name);
  }
  if (!launched) return scheduler_.end_device_task(context, task, failure);
  state.launched.push_back(std::move(launched));
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
