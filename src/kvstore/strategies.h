// The ways to sum a buffer over devices. A strategy turns a request into a CommunicationPlan; all of them are in one
// list, from which the planner, the command line and the documentation of Python take names and meanings.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvstore/communication_plan.h"

namespace headrace::kvstore {

inline constexpr int kMostSlices = 4096;

struct CollectiveRequest {
  std::shared_ptr<const Topology> topology;
  std::vector<int> devices;  // that have a gradient each and want the sum; no device twice
  size_t bytes = 0;
  Collective collective = Collective::kAllreduce;
  std::optional<int> root;   // where central strategies and trees sum; the first device if not given
  std::vector<int> servers;  // of the parameter server; all hosts of the topology if empty
  int slices = 1;            // parts that follow each other, so that one is sent on while the next arrives
  size_t element_bytes = 4;  // no element is divided between steps
};

// All devices with gradients as a rule: the GPUs; the hosts where there is no GPU.
std::vector<int> default_devices(const Topology& topology);

struct Strategy {
  std::string_view name, meaning;
  std::string (*obstacle)(const CollectiveRequest& request);  // for obstacle_of
  CommunicationPlan (*make)(const CollectiveRequest& request);
};

std::span<const Strategy> strategies();

// Raises ValueError for an unknown name.
const Strategy& find_strategy(std::string_view name);

// Why a strategy cannot serve the request; empty if it can. Raises ValueError for a request that makes no sense (no
// devices, a device twice, no slices).
std::string obstacle_of(const Strategy& strategy, const CollectiveRequest& request);

// Raises ValueError: no such strategy, an obstacle, or a request that makes no sense.
CommunicationPlan make_plan(std::string_view strategy, const CollectiveRequest& request);

}  // namespace headrace::kvstore
