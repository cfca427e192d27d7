// Chooses how to sum: simulates every strategy and takes the one with the least predicted time.
#pragma once

#include <vector>

#include "kvstore/simulator.h"
#include "kvstore/strategies.h"

namespace headrace::kvstore {

struct Prediction {
  int slices = 1;
  int64_t total_ps = 0;
  size_t steps = 0;
  size_t scratch_bytes = 0;  // on the device that needs most
  int busiest = -1;          // the resource that is busy longest; -1 if nothing is
  double busiest_share = 0;  // of the total time
};

struct Comparison {
  const Strategy* strategy;
  std::string obstacle;  // why it is not possible; the predictions mean nothing then
  Prediction whole;      // the buffer in one piece
  Prediction sliced;     // with the number of slices that is fastest; `whole` if slicing gains nothing

  bool possible() const noexcept { return obstacle.empty(); }
};

inline constexpr int kMostSlicesTried = 64;

Prediction predict(const CommunicationPlan& plan, int slices);

// The slices of the request are tried if there are more than one, else the powers of two up to kMostSlicesTried, as
// long as they gain and the plan stays small. Raises ValueError as make_plan.
Comparison predict(const Strategy& strategy, const CollectiveRequest& request);
// The same for every strategy, in the order of strategies().
std::vector<Comparison> compare(const CollectiveRequest& request);

// The row with the least time; equals: the first. Never null for a request that compare() took.
const Comparison* fastest(const std::vector<Comparison>& rows);

// The plan of the fastest row.
CommunicationPlan best_plan(const CollectiveRequest& request);

}  // namespace headrace::kvstore
