// Tasks that may run now, per priority the most urgent first, then the oldest. Any thread may call any function.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <mutex>

#include "base/spin_lock.h"
#include "engine/task.h"

namespace headrace {

class ReadyQueue {
 public:
  static constexpr int64_t kNoHorizon = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kNothing = std::numeric_limits<int64_t>::min();  // a horizon that no task is within

  // Without the lock: a hint unless fences order it.
  bool empty() const noexcept { return size_.load(std::memory_order_relaxed) == 0; }
  int size() const noexcept { return size_.load(std::memory_order_relaxed); }
  bool has_above(Priority priority) const noexcept {
    return present_.load(std::memory_order_relaxed) & ((1u << static_cast<unsigned>(priority)) - 1);
  }

  void push(Task* task) noexcept {
    std::lock_guard guard(lock_);
    add(task);
  }

  void push_all(TaskList& tasks) noexcept {
    std::lock_guard guard(lock_);
    while (Task* task = tasks.pop()) add(task);
  }

  // Whether there is a task pushed up to `horizon`. A hint, as empty() is.
  bool has_until(int64_t horizon) const noexcept {
    return !empty() && oldest_.load(std::memory_order_relaxed) <= horizon;
  }

  // The first task of the highest priority among those pushed up to `horizon`, if `allowed` agrees with it.
  template <class Allowed>
  Task* pop(const Allowed& allowed, int64_t horizon = kNoHorizon) noexcept {
    if (!has_until(horizon)) return nullptr;
    std::lock_guard guard(lock_);
    for (size_t i = 0; i < kPriorities; ++i) {
      Task* const task = lists_[i].find(horizon);
      if (!task) continue;
      if (!allowed(*task)) return nullptr;
      lists_[i].remove(task);
      if (lists_[i].empty())
        present_.store(present_.load(std::memory_order_relaxed) & ~(1u << i), std::memory_order_relaxed);
      size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
      find_oldest();
      return task;
    }
    return nullptr;
  }

  // Moves everything to `other`; returns how many.
  int move_to(ReadyQueue& other) noexcept {
    TaskList all;
    int count = 0;
    {
      std::lock_guard guard(lock_);
      for (TaskList& list : lists_) all.append(list);
      count = size_.load(std::memory_order_relaxed);
      size_.store(0, std::memory_order_relaxed);
      present_.store(0, std::memory_order_relaxed);
      find_oldest();
    }
    if (count) other.push_all(all);
    return count;
  }

  // In a forked child: the tasks are other threads' business, and one of these may have held the lock.
  void forget() noexcept {
    lists_ = {};
    size_.store(0, std::memory_order_relaxed);
    oldest_.store(kNoHorizon, std::memory_order_relaxed);
    present_.store(0, std::memory_order_relaxed);
    lock_.unlock();
  }

 private:
  static constexpr size_t kPriorities = 3;

  void add(Task* task) noexcept {
    const size_t index = static_cast<size_t>(task->priority);
    lists_[index].insert(task);
    oldest_.store(std::min(oldest_.load(std::memory_order_relaxed), task->sequence), std::memory_order_relaxed);
    present_.store(present_.load(std::memory_order_relaxed) | 1u << index, std::memory_order_relaxed);
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  void find_oldest() noexcept {
    int64_t oldest = kNoHorizon;
    for (const TaskList& list : lists_)
      if (!list.empty()) oldest = std::min(oldest, list.oldest());
    oldest_.store(oldest, std::memory_order_relaxed);
  }

  SpinLock lock_;
  std::array<TaskList, kPriorities> lists_;  // guarded by lock_
  std::atomic<int> size_{0};                 // written under lock_
  std::atomic<int64_t> oldest_{kNoHorizon};  // smallest sequence; written under lock_
  std::atomic<unsigned> present_{0};         // bit per list that is not empty; written under lock_
};

}  // namespace headrace
