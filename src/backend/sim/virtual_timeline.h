// Draws virtual time: a lane for each stream, those of links, and one for what the frontend waits for. Does nothing
// unless operators are recorded. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/sim/link_lanes.h"
#include "backend/sim/streams.h"
#include "device/topology.h"
#include "timeline/timeline.h"

namespace headrace::sim {

class VirtualTimeline {
 public:
  VirtualTimeline(const Topology& topology, StreamNumbers numbers);

  void ran(int stream, const char* name, int64_t begin_ps, int64_t end_ps);
  // Flows come in the order in which they end.
  void flowed(std::span<const int> resources, const char* name, int64_t begin_ps, int64_t end_ps);
  void waited(int64_t begin_ps, int64_t end_ps);

 private:
  // Whether there is something to draw.
  bool records(const timeline::Category& category);

  StreamNumbers numbers_;
  std::vector<std::optional<timeline::Track>> streams_;  // made when they are first needed
  LinkLanes links_;
  std::optional<timeline::Track> frontend_;
};

}  // namespace headrace::sim
