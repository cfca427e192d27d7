// What is connected to what, and how fast: devices with memory, switches without, links between them. A topology is
// made whole from a TopologySpec and never changes, so any number of threads may share it.
//
// The model: a copy holds every link direction on its route at once and moves at the pace of the slowest. A full-duplex
// link carries its bandwidth in each direction, a shared one in both together; a switch carries what its links bring
// unless it has a limit of its own. Devices end routes and never forward. Each of these capacities is a Resource, and
// resources are all that the simulator knows of a topology.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/device.hpp"

namespace headrace {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();
inline constexpr int kMostDevices = 2048;

enum class Duplex : uint8_t { kFull, kShared };

// What a device does besides sending and receiving: for simulated machines, which take from here how long an operation
// lasts. What is not declared costs no time.
struct DeviceRates {
  double flops = kUnlimited;      // floating-point operations per second
  double bandwidth = kUnlimited;  // bytes/s between the device and its memory
  double launch = 0;              // seconds to begin an operation

  friend bool operator==(const DeviceRates&, const DeviceRates&) = default;
};

struct DeviceSpec {
  std::string name;                      // "gpu0", "cpu1", "node2/gpu0"
  double reduce_bandwidth = kUnlimited;  // bytes/s of incoming data that it adds to its own
  DeviceRates rates = {};
};

// Raises ValueError naming `owner` unless the rates make sense.
void check_rates(const DeviceRates& rates, std::string_view owner);

struct SwitchSpec {
  std::string name;
  double bandwidth = kUnlimited;  // bytes/s through the switch, all links together
};

// How a link carries what is copied: each `payload` bytes in a frame with `overhead` bytes of headers and gaps.
struct Framing {
  double payload = 1;
  double overhead = 0;

  // On the wire, for each byte that is copied.
  double wire_bytes() const noexcept { return 1 + overhead / payload; }
  friend bool operator==(const Framing&, const Framing&) = default;
};

struct LinkSpec {
  std::string from, to;  // names of devices or switches; the order has no meaning
  double bandwidth = 0;  // bytes/s of one lane, frames and all
  double latency = 0;    // seconds
  int lanes = 1;         // equal parallel connections; one copy uses all of them
  Duplex duplex = Duplex::kFull;
  Framing framing = {};
};

struct TopologySpec {
  std::string name;
  std::vector<DeviceSpec> devices;
  std::vector<SwitchSpec> switches;
  std::vector<LinkSpec> links;
};

// One capacity that concurrent copies share: a direction of a link, a shared link, a limited switch, a device's adding.
struct Resource {
  std::string name;       // "gpu0>switch", "gpu0-gpu1", "switch", "gpu0 reduce"
  double bandwidth;       // bytes/s of what is copied
  double wire_bytes = 1;  // for each of these bytes
};

struct Route {
  std::vector<int> resources;  // in the order in which data meets them
  std::vector<int> vertices;   // from source to target; device numbers, then switches
  int64_t latency_ps = 0;      // of all links together
  double bandwidth = 0;        // of the slowest resource, in bytes/s of what is copied

  bool direct() const noexcept { return vertices.size() == 2; }
};

class Topology {
 public:
  // Raises ValueError naming what is wrong: names, bandwidths, latencies, ends of links, devices that cannot reach
  // each other.
  explicit Topology(TopologySpec spec);

  const TopologySpec& spec() const noexcept { return spec_; }
  const std::string& name() const noexcept { return spec_.name; }
  int device_count() const noexcept { return static_cast<int>(spec_.devices.size()); }
  const std::string& device_name(int number) const { return vertex_name(number); }
  Device device(int number) const { return places_[number].device; }
  int node(int number) const { return places_[number].node; }  // the machine that the device is in
  const std::string& vertex_name(int vertex) const;

  // Raises ValueError that lists the devices.
  int find_device(std::string_view name) const;
  // Numbers of devices, by node, then by the number in their name: gpu(i) is the i-th of the first list.
  std::vector<int> gpus() const { return of_kind(false); }
  std::vector<int> hosts() const { return of_kind(true); }

  std::span<const Resource> resources() const noexcept { return resources_; }
  // The resource of adding on that device; -1 where it costs nothing.
  int reduce_resource(int device) const { return reduce_resources_[device]; }

  // What the widest way from a device carries, by vertex; 0: there is no way.
  std::vector<double> bandwidths_from(int device) const;
  // The widest way from one device to another; among the widest the one of least latency, then of fewest links.
  Route route(int from, int to) const;

 private:
  friend class Routes;
  struct Place {
    int node;
    Device device;
  };
  struct Arc {
    int to;
    int resource;
    int64_t latency_ps;
  };

  static Place parse_place(const std::string& name);
  void add_vertices();
  void add_link(const LinkSpec& link);
  void check_connected() const;
  std::vector<int> of_kind(bool host) const;
  int find_vertex(const std::string& name) const;  // -1: there is none
  double width(int from, const Arc& arc, int source) const;

  TopologySpec spec_;
  std::vector<Place> places_;
  std::vector<std::vector<Arc>> arcs_;  // by vertex
  std::vector<Resource> resources_;
  std::vector<int> reduce_resources_;  // by device
  std::vector<int> switch_resources_;  // by switch; -1: unlimited
};

// Many routes from one device: what several of them need is found once. The topology outlives it. One thread at a time.
class Routes {
 public:
  Routes(const Topology& topology, int from)
      : topology_(topology), from_(from), bandwidths_(topology.bandwidths_from(from)) {}
  Route to(int target);

 private:
  using Distance = std::pair<int64_t, int>;  // latency, links
  struct Ways {
    std::vector<Distance> best;                              // by vertex
    std::vector<std::pair<int, const Topology::Arc*>> back;  // by vertex: the one before, -1: none
  };
  const Ways& ways_of(double bandwidth);

  const Topology& topology_;
  const int from_;
  const std::vector<double> bandwidths_;
  std::map<double, Ways> ways_;  // by the bandwidth that they have
};

// A preset ("pcie4", "p3", "ethernet:8x10") or a file. Raises ValueError or OSError.
Topology load_topology(const std::string& preset_or_file);

// Devices on one switch, each by a full-duplex link of PCIe. Named "one switch".
TopologySpec star_topology(std::span<const std::string> devices);

struct Preset {
  std::string_view form, meaning;
  // All but the name, which is the text; nothing if the text is not of this form. Raises ValueError for a text of this
  // form with impossible numbers.
  std::optional<TopologySpec> (*make)(std::string_view text);
};
std::span<const Preset> topology_presets();

// The file format is in docs/planner.md. Reading raises ValueError; a spec that was read still needs Topology's checks.
TopologySpec read_topology(std::string_view json);
std::string write_topology(const TopologySpec& spec);

}  // namespace headrace
