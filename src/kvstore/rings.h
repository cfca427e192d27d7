// Rings through a set of devices that do not take bandwidth from each other.
#pragma once

#include <span>
#include <vector>

#include "device/topology.h"

namespace headrace::kvstore {

struct Ring {
  std::vector<int> devices;  // each sends to the next, the last to the first
  double bandwidth = 0;      // bytes/s that every hop can carry at the same time as the other rings
};

// At most `most` rings, the widest first. Each is the widest that the bandwidth left over by those before it allows, in
// both directions of a link, so that every ring may also be run backwards. Where a ring over direct links exists,
// all rings go over direct links; otherwise over routes through switches. Two devices are a ring; one is none. The
// search is exhaustive for small sets and gives up on a width after a fixed number of tries, so the result is the same
// on every machine. At least one ring is found for two devices or more.
std::vector<Ring> find_rings(const Topology& topology, std::span<const int> devices, int most);

}  // namespace headrace::kvstore
