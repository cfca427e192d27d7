#include "backend/sim/link_lanes.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace::sim {

LinkLanes::LinkLanes(const Topology& topology, timeline::Clock clock)
    : topology_(topology), clock_(clock), lanes_(topology.resources().size()) {}

void LinkLanes::passed(std::span<const int> resources, const char* name, uint64_t begin, uint64_t end) {
  if (!timeline::enabled(timeline::kLink.source)) return;
  for (int resource : resources) {
    std::vector<Lane>& lanes = lanes_[resource];
    auto lane = std::ranges::find_if(lanes, [&](const Lane& one) { return one.until <= begin; });
    if (lane == lanes.end()) {
      const std::string& link = topology_.resources()[resource].name;
      const std::string title = lanes.empty() ? link : fmt::format("{} ({})", link, lanes.size() + 1);
      lanes.push_back({timeline::Track(title, "links", clock_), 0});
      lane = lanes.end() - 1;
    }
    lane->track.record({name, timeline::kLink}, begin, end);
    lane->until = end;
  }
}

}  // namespace headrace::sim
