// The links of a machine on the real clock: a copy takes what its route needs, shared max-min fairly with the copies
// that are on their way at the same time. Any thread may call any function.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "backend/sim/link_lanes.h"
#include "backend/sim/machine.h"
#include "device/flows.h"
#include "device/topology.h"

namespace headrace {

class SimLinks {
 public:
  explicit SimLinks(std::shared_ptr<const Topology> topology);

  // At least one of the devices is a GPU. A copy begins here and ends when finish() of what this gives returns.
  int start(Device to, Device from, size_t bytes);
  void finish(int copy);

 private:
  using Clock = std::chrono::steady_clock;

  struct Copy {
    Route route;
    uint64_t begin;  // for the timeline; 0: it was not recorded then
    bool has_ended = false;
  };

  Route route(Device to, Device from) const;
  void advance();
  int64_t now_ps() const;

  const sim::Machine machine_;
  const Clock::time_point epoch_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  sim::LinkLanes lanes_;  // this and all below: guarded by mutex_
  Flows flows_;
  std::map<int, Copy> copies_;  // addresses stay
  int next_ = 0;
};

}  // namespace headrace
