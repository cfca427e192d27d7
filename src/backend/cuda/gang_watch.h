// Looks after the work of gangs. A device that is lost, or an error in what connects devices, leaves the others waiting
// for ever: then the work fails, and the gang is aborted, so that its streams go on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "backend/cuda/watched_gang.h"
#include "device/work.h"

namespace headrace {

class GangWatch {
 public:
  // Work of a gang that may be on its way, until this is destroyed.
  class Flight {
   public:
    virtual ~Flight() = default;
  };

  // The work, which is being launched and does this, has to hold it, see Work::hold(). Any thread.
  std::shared_ptr<const Flight> begin(WatchedGang& gang, Work& work, const GangTask& task);
  // All work of the gang fails because of this, and it is aborted. Any thread.
  void break_gang(WatchedGang& gang, const std::string& why) noexcept;
  // Ends the thread; the next work starts it again.
  void end_thread() noexcept;

 private:
  struct Entry {
    WatchedGang* gang;
    Work* work;
    GangTask task;
    std::chrono::steady_clock::time_point since;
  };
  using Entries = std::list<Entry>;
  class Seat;

  void watch() noexcept;
  void look(std::unique_lock<std::mutex>& guard) noexcept;
  void fail_works_of(const WatchedGang& gang) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;  // these: guarded by mutex_
  bool is_stopping_ = false;
  std::thread thread_;
};

// Lives as long as the process.
GangWatch& gang_watch();

}  // namespace headrace
