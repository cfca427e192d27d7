// Lanes of the timeline for what passes links: one for each direction that is used, and further ones where copies share
// it. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/topology.h"
#include "timeline/timeline.h"

namespace headrace::sim {

class LinkLanes {
 public:
  // `topology` outlives it.
  LinkLanes(const Topology& topology, timeline::Clock clock);

  // A copy held the resources of its route from `begin` to `end`, stamps of the clock. Copies come in the order in
  // which they end. Does nothing unless operators are recorded.
  void passed(std::span<const int> resources, const char* name, uint64_t begin, uint64_t end);

 private:
  struct Lane {
    timeline::Track track;
    uint64_t until;
  };

  const Topology& topology_;
  const timeline::Clock clock_;
  std::vector<std::vector<Lane>> lanes_;  // by resource of the topology; made when they are first needed
};

}  // namespace headrace::sim
