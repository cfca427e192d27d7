// TaskGroup: a ready task together with queued ones that wait for nothing but it and each other, to run as one. It is
// collected and run by the thread that runs the first task; belongs to it, and lives for that time only.
//
// The tasks that join stay where they are, in their chains: they can become ready only through tasks of the group, so
// no other thread can begin them meanwhile.
#pragma once

#include <array>
#include <span>

#include "engine/task.h"

namespace headrace {

class TaskGroup {
 public:
  // `lead` is ready and may lead a group.
  explicit TaskGroup(Task& lead) noexcept { add(lead); }

  static bool can_begin_with(const Task& task) noexcept {
    return task.body_type->group && task.body_type->group->can_lead(task.body);
  }
  // Takes in what can join and was pushed up to `last_sequence`.
  void collect(int64_t last_sequence) noexcept;

  std::span<Task* const> tasks() const noexcept { return {tasks_.data(), count_}; }
  // Runs all bodies; gives the name for the timeline. What it throws it throws with nothing done.
  const char* run() { return tasks_[0]->body_type->group->run({bodies_.data(), count_}); }

 private:
  static constexpr size_t kMost = 32;

  bool take_follower(int64_t last_sequence) noexcept;
  bool can_join(const Task& task, int64_t last_sequence) const noexcept;
  void add(Task& task) noexcept {
    tasks_[count_] = &task;
    bodies_[count_++] = task.body;
  }

  size_t count_ = 0;
  std::array<Task*, kMost> tasks_;
  std::array<void*, kMost> bodies_;
};

}  // namespace headrace
