#include "engine/task_group.h"

#include <algorithm>

#include "engine/chain.h"

namespace headrace {
namespace {

// How many accesses of a task wait for the group.
struct Follower {
  Task* task;
  int32_t waits;
};

}  // namespace

bool TaskGroup::can_join(const Task& task, int64_t last_sequence) const noexcept {
  const Task& lead = *tasks_[0];
  return task.body_type == lead.body_type && task.priority == lead.priority && task.sequence <= last_sequence &&
         lead.body_type->group->can_join({bodies_.data(), count_}, task.body);
}

// A task whose accesses are being registered has one more wait than accesses, so it does not join before it is whole.
bool TaskGroup::take_follower(int64_t last_sequence) noexcept {
  std::array<Follower, kMost> followers;
  size_t count = 0;
  visit_followers(tasks(), [&](Task& task) {
    Follower* const end = followers.data() + count;
    Follower* const known = std::find_if(followers.data(), end, [&](const Follower& f) { return f.task == &task; });
    if (known != end)
      ++known->waits;
    else if (count < followers.size())
      followers[count++] = {&task, 1};
  });
  for (const Follower& follower : std::span(followers).first(count)) {
    Task& task = *follower.task;
    if (task.waits.load(std::memory_order_acquire) != follower.waits || task.stream) continue;
    // Neither a failure nor a stream at work.
    if (!std::ranges::all_of(task.accesses(), [](const Access& access) { return access.var->is_plain(); })) continue;
    if (!can_join(task, last_sequence)) continue;
    add(task);
    return true;
  }
  return false;
}

void TaskGroup::collect(int64_t last_sequence) noexcept {
  while (count_ < kMost && take_follower(last_sequence)) {
  }
}

}  // namespace headrace
