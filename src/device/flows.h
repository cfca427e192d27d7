// Bytes on their way over shared capacities, in simulated time: flows that run at the same time share every resource
// max-min fairly, so none can be faster without making slower one that is no faster. Whoever simulates owns the clock
// and asks for the next end; for equal calls the times are equal, to the picosecond. One thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "device/topology.h"

namespace headrace {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
inline constexpr double kPicosecondsPerSecond = 1e12;
inline constexpr double kMostPicoseconds = 8.64e18;  // a hundred days, and less than int64_t holds

struct ResourceLoad {
  int64_t busy_ps = 0;  // while at least one flow passed through it
  uint64_t bytes = 0;   // of all flows that began
};

class Flows {
 public:
  explicit Flows(std::span<const Resource> resources);

  // When the first of the flows ends; kNever: there is none. Valid after share().
  int64_t next_end_ps() const noexcept { return next_end_ps_; }
  // Lets time pass, at most up to next_end_ps(). Raises ValueError beyond a hundred days.
  void advance(int64_t now_ps);
  // Removes the flows that have ended and gives their keys, ascending, valid until the next call.
  std::span<const int> take_ended();
  // `resources` are not empty and outlive the flow.
  void start(int key, std::span<const int> resources, uint64_t bytes);
  // Gives each flow its pace; needed after take_ended() and start(), once for all of one moment. Raises ValueError for
  // a flow that would take over a hundred days.
  void share();

  // By resource.
  std::span<const ResourceLoad> loads() const noexcept { return loads_; }

 private:
  struct Flow {
    int key;
    std::span<const int> resources;
    double left;  // bytes
    double rate = 0;
    int64_t end_ps = 0;
  };

  void divide();
  void set_rate(Flow& flow, double rate);

  std::span<const Resource> resources_;
  std::vector<ResourceLoad> loads_;
  int64_t now_ps_ = 0, next_end_ps_ = kNever;
  bool changed_ = false;  // since share()
  std::vector<Flow> flows_;
  std::vector<int> busy_;  // resources with flows
  std::vector<int> ended_;
  std::vector<double> left_;           // by resource: bandwidth not yet given away
  std::vector<int> users_;             // by resource: flows without a pace
  std::vector<Flow*> open_, settled_;  // of one share(), kept for their memory
};

}  // namespace headrace
