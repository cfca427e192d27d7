// A collective operation as data: copies between devices and sums on them, with what must come before what. A plan is
// made by a strategy (strategies.h) and never changes; it can be printed, simulated (simulator.h), tried on host memory
// (interpreter.h), and executed by anything that can copy and add.
//
// Memory: each device has slot 0, the buffer itself, and further slots of scratch with the same addresses, of which
// only the ranges in scratch_ranges() need memory. No step of a plan touches bytes that another step may be writing,
// unless one comes after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "device/topology.h"

namespace headrace::kvstore {

// What a plan does. Between its two halves the sum of each range is at the owner of that range.
enum class Collective : uint8_t {
  kAllreduce,  // every device gets the sum
  kReduce,     // the first half: every owner gets the sum of its ranges
  kBroadcast,  // the second half: every device gets the owners' ranges
};

// Names as they are printed and parsed. Raises ValueError for other texts.
std::string_view collective_name(Collective collective);
Collective parse_collective(std::string_view text);

struct Range {
  size_t begin = 0, end = 0;  // bytes
  size_t size() const noexcept { return end - begin; }
  bool empty() const noexcept { return begin == end; }
  friend auto operator<=>(const Range&, const Range&) = default;
};

struct Place {
  int device = 0;  // number in the topology
  int slot = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

enum class StepKind : uint8_t {
  kCopy,    // target = source, along a route
  kReduce,  // target += source, both on one device
};

struct Step {
  StepKind kind;
  Place source, target;
  Range range;
  int slice;               // which part of the buffer it belongs to
  std::vector<int> after;  // numbers of earlier steps
  int route = -1;          // of a copy: index into routes()
};

struct Owner {
  Range range;
  int device;
};

class CommunicationPlan {
 public:
  const Topology& topology() const noexcept { return *topology_; }
  std::string_view strategy() const noexcept { return strategy_; }
  Collective collective() const noexcept { return collective_; }
  size_t bytes() const noexcept { return bytes_; }
  std::span<const int> devices() const noexcept { return devices_; }  // that have a gradient, or want the sum
  std::span<const Owner> owners() const noexcept { return owners_; }  // in order of ranges, which cover the buffer
  std::span<const Route> routes() const noexcept { return routes_; }

  // In an order in which each step comes after those that it needs.
  std::span<const Step> steps() const noexcept { return steps_; }

  // Where scratch memory is needed: the ranges of slots above 0, joined and in order.
  std::map<Place, std::vector<Range>> scratch_ranges() const;
  size_t scratch_bytes(int device) const;

  std::string text() const;  // a line for each step
  std::string json() const;

 private:
  friend class PlanBuilder;
  CommunicationPlan() = default;

  std::shared_ptr<const Topology> topology_;
  std::string strategy_;
  Collective collective_ = Collective::kAllreduce;
  size_t bytes_ = 0;
  std::vector<int> devices_;
  std::vector<Owner> owners_;
  std::vector<Route> routes_;
  std::vector<Step> steps_;
};

// Writes a plan step by step. Steps are numbered from 0; -1 stands for no step and may be given wherever one is
// expected. Nothing is written for an empty range.
class PlanBuilder {
 public:
  PlanBuilder(std::shared_ptr<const Topology> topology, std::string_view strategy, Collective collective,
              std::vector<int> devices, size_t bytes);

  // Copies with equal source, target and channel keep their order; those of the two halves have channels of their own.
  int copy(Place source, Place target, Range range, std::vector<int> after, int channel);
  int reduce(Place source, Place target, Range range, std::vector<int> after);
  void own(Range range, int device);

  void begin_slice(int slice) { slice_ = slice; }
  CommunicationPlan finish() &&;

 private:
  int add(Step step);

  CommunicationPlan plan_;
  int slice_ = 0;
  std::map<int, Routes> routes_from_;                         // by source
  std::map<std::pair<int, int>, int> route_of_;               // by source and target
  std::map<std::tuple<int, int, int>, int> last_in_channel_;  // by source, target and channel
};

}  // namespace headrace::kvstore
