// Tasks of accelerators: sending them to their device queues, what follows a launch and its end, and host tasks that
// have to wait for streams.
#include <fmt/format.h>

#include "engine/scheduler.h"
#include "timeline/timeline.h"

namespace headrace {

DeviceQueue& Scheduler::device_queue(Accelerator& accelerator) {
  std::atomic<DeviceQueue*>& place = device_queues_[static_cast<size_t>(accelerator.device().id)];
  if (DeviceQueue* known = place.load(std::memory_order_acquire)) return *known;
  std::lock_guard guard(device_queues_mutex_);
  if (DeviceQueue* known = place.load(std::memory_order_relaxed)) return *known;
  auto* made = new DeviceQueue(*this, accelerator);
  place.store(made, std::memory_order_release);
  return *made;
}

void Scheduler::visit_device_queues(FunctionRef<void(DeviceQueue&)> visit) noexcept {
  for (std::atomic<DeviceQueue*>& place : device_queues_)
    if (DeviceQueue* queue = place.load(std::memory_order_acquire)) visit(*queue);
}

ThreadContext& Scheduler::enter_launcher(Device device) {
  ThreadContext& context = threads_.current();
  timeline::name_thread(fmt::format("{} launches", to_string(device)));
  return context;
}

// A task whose chains are satisfied may still have to wait for streams: then whoever retires the last launch that it
// waits for makes it ready again.
bool Scheduler::put_off(Task& task) noexcept {
  bool is_plain = true;
  for (const Access& access : task.accesses()) is_plain &= access.var->is_plain();
  if (is_plain) [[likely]]
    return false;
  task.waits.store(1, std::memory_order_relaxed);
  for (const Access& access : task.accesses())
    VarAccess::visit_uses(*access.var, access.exclusive, [&](const LaunchPtr& launch) {
      task.waits.fetch_add(1, std::memory_order_relaxed);
      if (!launch->put_off(task)) task.waits.fetch_sub(1, std::memory_order_relaxed);
    });
  return task.waits.fetch_sub(1, std::memory_order_acq_rel) != 1;
}

// What follows a launched task in the chains goes on; the task itself stays until it is retired.
void Scheduler::pass_launched(ThreadContext& context, Task& task) noexcept {
  TaskList ready;
  ChainEvents events;
  complete_accesses(task, events);
  if (!events.ready.empty()) reach_waits(events, ready);
  if (events.left) Task::drop(&task, events.left);
  if (!ready.empty()) place(context, ready, [](Task&) { return false; });
}

void Scheduler::retire(ThreadContext& context, Launch& launch) noexcept {
  ChainEvents events;
  for (Task* waiting : launch.retire())
    if (waiting->waits.fetch_sub(1, std::memory_order_acq_rel) == 1) events.ready.push(waiting);
  TaskList ready;
  reach_waits(events, ready);
  if (launch.failed_itself()) failures_.add(launch.failure());
  if (launch.task().keeps && launch.failure()) kept_.add(launch.failure());
  release(launch.task(), 1);
  device_tasks_.fetch_sub(1, std::memory_order_relaxed);
  pass_on(context, 1, ready, [](Task&) { return false; });
}

void Scheduler::end_device_task(ThreadContext& context, Task& task, const FailurePtr& failure) noexcept {
  device_tasks_.fetch_sub(1, std::memory_order_relaxed);
  complete(context, &task, failure, [](Task&) { return false; });
}

}  // namespace headrace
