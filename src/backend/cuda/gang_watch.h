// Looks after the work of gangs. A device that is lost, or an error in what connects devices, leaves the others waiting
// for ever: then the work fails, and the gang is aborted, so that its streams go on.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "backend/cuda/cuda_gang.h"
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
  std::shared_ptr<const Flight> begin(CudaGang& gang, Work& work, const GangTask& task);
  // Ends the thread; the next work starts it again.
  void end_thread() noexcept;

 private:
  struct Entry {
    CudaGang* gang;
    Work* work;
    GangTask task;
  };
  using Entries = std::list<Entry>;
  class Seat;

  void watch() noexcept;
  void look(std::unique_lock<std::mutex>& guard) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;  // these: guarded by mutex_
  bool is_stopping_ = false;
  std::thread thread_;
};

// Lives as long as the process.
GangWatch& gang_watch();

}  // namespace headrace
