// LongWaits: says what threads wait for when that takes long, once for each wait, or for the first of several. Any
// thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace headrace::distributed {

class LongWaits {
 public:
  // `long_time`: 0: nothing is ever said.
  explicit LongWaits(std::chrono::milliseconds long_time);
  ~LongWaits();
  LongWaits(const LongWaits&) = delete;
  LongWaits& operator=(const LongWaits&) = delete;

  // Those of this process, which never end: HEADRACE_STALL_SECONDS is long. Raises ValueError where that is no number.
  static LongWaits& of_process();

 private:
  friend class LongWait;
  struct Entry {
    std::chrono::steady_clock::time_point since;
    std::function<std::string()> what;
    bool is_told = false;
  };

  void watch();

  const std::chrono::milliseconds long_time_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<Entry> waits_;  // these: guarded by mutex_
  bool is_over_ = false;
  std::thread thread_;
};

// A wait, from begin to end. `what` says what is waited for, and why it may take so long; called in another thread.
class LongWait {
 public:
  explicit LongWait(std::function<std::string()> what, LongWaits& all = LongWaits::of_process());
  ~LongWait();
  LongWait(const LongWait&) = delete;
  LongWait& operator=(const LongWait&) = delete;

 private:
  LongWaits& all_;
  std::list<LongWaits::Entry>::iterator entry_;
};

}  // namespace headrace::distributed
