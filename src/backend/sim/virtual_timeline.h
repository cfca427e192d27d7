// Draws virtual time: a lane for each stream, one for each direction of a link (where copies share it, further ones)
// and one for what the frontend waits for. Does nothing unless operators are recorded. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/sim/streams.h"
#include "device/topology.h"
#include "trace/trace.h"

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
  bool records(const trace::Category& category);

  struct LinkLane {
    trace::Track track;
    int64_t until_ps;
  };

  const Topology& topology_;
  StreamNumbers numbers_;
  std::vector<std::optional<trace::Track>> streams_;  // made when they are first needed
  std::vector<std::vector<LinkLane>> links_;          // by resource of the topology
  std::optional<trace::Track> frontend_;
};

}  // namespace headrace::sim
