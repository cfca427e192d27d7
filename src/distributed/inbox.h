// Inbox: what is to be done by a server, one thing after the other. Any thread puts; one thread, the owner, takes, and
// whoever offers does what is due at once where nothing else is.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace headrace::distributed {

class Inbox {
 public:
  using Job = std::function<void()>;

  // Leaves it to the owner. After close() the job is done at once.
  void put(Job job) {
    {
      std::lock_guard guard(mutex_);
      if (!is_closed_) return queue(std::move(job));
    }
    job();
  }
  // Has `run` do it in this thread, which saves waking the owner, if that waits for something to do; otherwise puts it.
  template <class Run>
  void offer(Job job, const Run& run) {
    {
      std::lock_guard guard(mutex_);
      if (!is_closed_ && (is_busy_ || !jobs_.empty())) return queue(std::move(job));
      if (!is_closed_) is_busy_ = true;
    }
    run(job);
    std::lock_guard guard(mutex_);
    if (is_closed_) return;
    is_busy_ = false;
    if (!jobs_.empty()) changed_.notify_one();
  }
  // Waits for something to do. The owner is busy with it until it comes again.
  Job take() {
    std::unique_lock lock(mutex_);
    is_busy_ = false;
    changed_.wait(lock, [&] { return !jobs_.empty() && !is_busy_; });
    is_busy_ = true;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }
  // Gives what is left. By the owner, while it is busy.
  std::deque<Job> close() {
    std::lock_guard guard(mutex_);
    is_closed_ = true;
    return std::exchange(jobs_, {});
  }

 private:
  void queue(Job job) {  // mutex_ is locked
    jobs_.push_back(std::move(job));
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool is_busy_ = true;  // somebody does one; at first the owner, with what comes before
  bool is_closed_ = false;
};

}  // namespace headrace::distributed
