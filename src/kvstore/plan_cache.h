// PlanCache: which plan sums arrays of some devices and sizes, and the executors of the plans in use. The choice
// depends on devices, topology and the class of the size (up to the next power of two) alone, so that equal arrays are
// always summed in one order.
//
// Belongs to one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "kvstore/executor.h"
#include "kvstore/planner.h"

namespace headrace::kvstore {

class PlanCache {
 public:
  // Raises ValueError for an unknown strategy or a malformed topology, OSError for a file that cannot be read.
  explicit PlanCache(const Options& options);

  // Plans in which every device gets the sum.
  Executor& allreduce(std::span<const Device> devices, size_t elements, DType dtype);
  // Plans of one half of the operation: `root`, one of the devices, gets the sum, or gives what it has to all.
  Executor& rooted(Collective collective, std::span<const Device> devices, Device root, size_t elements, DType dtype);

 private:
  // What a plan is for, except its size; devices are by number in `topology`.
  struct Group {
    std::shared_ptr<const Topology> topology;
    Collective collective;
    std::vector<int> devices;
    std::optional<int> root;
    auto key() const { return std::tuple(topology.get(), collective, devices, root); }
    friend bool operator<(const Group& a, const Group& b) { return a.key() < b.key(); }
  };
  struct Choice {
    const Strategy* strategy;
    int slices;
  };

  Group group_of(Collective collective, std::span<const Device> devices, std::optional<Device> root);
  std::shared_ptr<const Topology> topology_for(std::span<const Device> devices);
  Executor& find(const Group& group, size_t elements, DType dtype);
  Choice choose(const Group& group, size_t bytes, size_t element_bytes) const;

  const Strategy* strategy_ = nullptr;        // null: the planner chooses
  std::shared_ptr<const Topology> declared_;  // null: the backend's, or all on one switch
  std::map<std::vector<std::string>, std::shared_ptr<const Topology>> stars_;  // by the names of their devices
  std::map<std::tuple<Group, size_t, size_t>, Choice> choices_;                // by class of size and element size
  std::map<std::tuple<Group, size_t, DType>, Executor> executors_;             // by number of elements
};

}  // namespace headrace::kvstore
