// Inbox: what is to be done in the thread of a server. Any thread puts, one takes.
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

  // After close() the job is done at once.
  void put(Job job) {
    {
      std::lock_guard guard(mutex_);
      if (!is_closed_) {
        jobs_.push_back(std::move(job));
        changed_.notify_one();
        return;
      }
    }
    job();
  }
  // Waits for something to do.
  Job take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !jobs_.empty(); });
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }
  // Gives what is left.
  std::deque<Job> close() {
    std::lock_guard guard(mutex_);
    is_closed_ = true;
    return std::exchange(jobs_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool is_closed_ = false;
};

}  // namespace headrace::distributed
