// How long a plan takes, by the model of its topology alone: a discrete-event simulation whose time is an integer
// number of picoseconds and whose ties are broken by step number, so that a plan has one result, to the digit,
// everywhere.
//
// A copy begins when the steps it needs have ended. After the latency of its route, its bytes flow (device/flows.h). A
// sum on a device with a reduce_bandwidth flows through that resource; elsewhere it takes no time.
#pragma once

#include <iosfwd>
#include <vector>

#include "device/flows.h"
#include "kvstore/communication_plan.h"

namespace headrace::kvstore {

struct Interval {
  int64_t begin_ps = 0, end_ps = 0;  // from the first byte to the last: without the latency before
};

struct Simulation {
  int64_t total_ps = 0;
  std::vector<Interval> steps;          // by step
  std::vector<ResourceLoad> resources;  // by resource of the topology
};

// Raises ValueError for a plan that takes longer than a hundred days.
Simulation simulate(const CommunicationPlan& plan);

// A Chrome trace with a lane for each link direction; where steps share one, further lanes for it.
void write_chrome_trace(const CommunicationPlan& plan, const Simulation& simulation, std::ostream& out);

}  // namespace headrace::kvstore
