// The links of a machine on the real clock: a copy takes what its route needs, shared max-min fairly with the copies
// that are on their way at the same time. Any thread may call any function.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "device/flows.h"
#include "device/topology.h"

namespace headrace {

class SimLinks {
 public:
  explicit SimLinks(std::shared_ptr<const Topology> topology);

  // Between two devices of the topology. A copy begins here and ends when finish() of what this gives returns.
  int start(int from, int to, size_t bytes);
  void finish(int copy);

 private:
  using Clock = std::chrono::steady_clock;

  struct Copy {
    Route route;
    bool has_ended = false;
  };

  void advance();
  int64_t now_ps() const;

  const std::shared_ptr<const Topology> topology_;
  const Clock::time_point epoch_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  Flows flows_;                 // this and all below: guarded by mutex_
  std::map<int, Copy> copies_;  // addresses stay
  std::map<std::pair<int, int>, Route> routes_;
  int next_ = 0;
};

}  // namespace headrace
