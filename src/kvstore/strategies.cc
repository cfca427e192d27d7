#include "kvstore/strategies.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <ranges>
#include <set>

#include "base/check.h"
#include "kvstore/rings.h"

namespace headrace::kvstore {
namespace {

constexpr int kMostRings = 8;
constexpr size_t kTreeArity = 2;

// Cuts a range in proportion to `weights`, at element borders; the rest of a division goes to the last part.
std::vector<Range> split(Range range, std::span<const double> weights, size_t element_bytes) {
  double total = 0, passed = 0;
  for (double weight : weights) total += weight;
  const auto elements = static_cast<double>(range.size() / element_bytes);
  std::vector<Range> parts;
  size_t begin = range.begin;
  for (double weight : weights) {
    passed += weight;
    const bool last = parts.size() + 1 == weights.size();
    const auto border = static_cast<size_t>(std::floor(elements * (passed / total)));
    const size_t end = last ? range.end : std::max(begin, range.begin + border * element_bytes);
    parts.push_back({begin, end});
    begin = end;
  }
  return parts;
}

std::vector<Range> split(Range range, size_t parts, size_t element_bytes) {
  return split(range, std::vector<double>(parts, 1.0), element_bytes);
}

bool contains(std::span<const int> list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

// Channels of the two halves of the ring of this number (PlanBuilder::copy); strategies without rings use number 0.
int reducing(int number) { return 2 * number; }
int spreading(int number) { return 2 * number + 1; }

// A plan under construction for one request.
class Writer {
 public:
  Writer(const CollectiveRequest& request, std::string_view strategy)
      : request_(request),
        builder_(request.topology, strategy, request.collective, request.devices, request.bytes),
        reduces_(request.collective != Collective::kBroadcast),
        spreads_(request.collective != Collective::kReduce) {}

  // Calls `body` for each slice of the buffer that is not empty.
  CommunicationPlan write(const std::function<void(Range)>& body) {
    int number = 0;
    for (Range slice : split({0, request_.bytes}, request_.slices, request_.element_bytes)) {
      builder_.begin_slice(number++);
      if (!slice.empty()) body(slice);
    }
    return std::move(builder_).finish();
  }

  // Every server sums an equal part of the slice and sends it to all devices.
  void serve(Range slice, std::span<const int> servers) {
    share_out(slice, request_.devices, nothing_before(request_.devices), servers, 1, [](size_t, Range, int) {});
  }

  // `parents` by position in `order`, which has every parent before its children; the first is the root.
  void pass_tree(Range slice, std::span<const int> order, std::span<const size_t> parents) {
    std::vector<int> done(order.size(), -1);
    for (size_t i = order.size(); reduces_ && i-- > 0;) {
      std::vector<Arrival> arrivals;
      for (size_t child = i + 1; child < order.size(); ++child)
        if (parents[child] == i) arrivals.push_back({order[child], done[child]});
      done[i] = sum_at(order[i], true, arrivals, slice);
    }
    builder_.own(slice, order[0]);
    for (size_t i = 1; spreads_ && i < order.size(); ++i)
      done[i] = builder_.copy({order[parents[i]]}, {order[i]}, slice, {done[parents[i]]}, spreading(0));
  }

  // Each device adds what it gets to its own and sends it on, all at once with different chunks; then the sums go
  // round.
  void pass_ring(Range range, std::span<const int> ring, int number) {
    circle(range, ring, nothing_before(ring), number, 1, [](size_t, Range, int) {});
  }

  // First the devices of each machine sum, each a part of its own, then those with the same part on all machines, and
  // the sums take the same way back. A machine with more devices than another has some without a part.
  void pass_hierarchy(Range slice, std::span<const std::vector<int>> machines, bool in_ring) {
    const auto [least, most] = std::ranges::minmax(machines | std::views::transform(&std::vector<int>::size));
    const size_t count = least;
    const auto slot = static_cast<int>(most);  // those below are of the sums of a machine
    const std::vector<Range> parts = split(slice, count, request_.element_bytes);
    for (size_t j = 0; j < count; ++j) {
      std::vector<int> heads, ready;  // by machine: the device with this part; the step that sums it there
      for (const std::vector<int>& devices : machines) {
        std::vector<Arrival> arrivals;
        for (size_t i = 0; i < devices.size(); ++i)
          if (i != j) arrivals.push_back({devices[i], -1});
        heads.push_back(devices[j]);
        ready.push_back(reduces_ ? sum_at(devices[j], true, arrivals, parts[j]) : -1);
      }
      const auto spread = [&](size_t machine, Range range, int after) {
        for (size_t i = 0; spreads_ && i < machines[machine].size(); ++i)
          if (i != j) builder_.copy({heads[machine]}, {machines[machine][i]}, range, {after}, spreading(1));
      };
      if (in_ring)
        circle(parts[j], heads, ready, 0, slot, spread);
      else
        share_out(parts[j], heads, ready, heads, slot, spread);
    }
  }

  void own(Range range, int device) { builder_.own(range, device); }

 private:
  struct Arrival {
    int device;
    int after;  // the step that makes it ready
  };

  static std::vector<int> nothing_before(std::span<const int> devices) { return std::vector<int>(devices.size(), -1); }

  // A ring of devices whose own values are there after the steps `ready`. Calls spread(position in the ring, chunk,
  // step) when a device has the sum of a chunk.
  template <class Spread>
  void circle(Range range, std::span<const int> ring, std::span<const int> ready, int number, int slot,
              Spread&& spread) {
    const size_t n = ring.size();
    const std::vector<Range> chunks = split(range, n, request_.element_bytes);
    std::vector<int> done(ready.begin(), ready.end());  // by chunk: the step after which its newest version is there
    for (size_t hop = 0; reduces_ && hop + 1 < n; ++hop) {
      for (size_t i = 0; i < n; ++i) {
        const size_t chunk = (i + n - hop) % n, next = (i + 1) % n;
        const Place scratch{ring[next], slot};
        const int arrived = builder_.copy({ring[i]}, scratch, chunks[chunk], {done[chunk]}, reducing(number));
        done[chunk] = builder_.reduce(scratch, {ring[next]}, chunks[chunk], {arrived, ready[next]});
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const size_t chunk = (i + 1) % n;
      builder_.own(chunks[chunk], ring[i]);
      if (spreads_) spread(i, chunks[chunk], done[chunk]);
    }
    for (size_t hop = 0; spreads_ && hop + 1 < n; ++hop) {
      for (size_t i = 0; i < n; ++i) {
        const size_t chunk = (i + 1 + n - hop) % n, next = (i + 1) % n;
        done[chunk] = builder_.copy({ring[i]}, {ring[next]}, chunks[chunk], {done[chunk]}, spreading(number));
        spread(next, chunks[chunk], done[chunk]);
      }
    }
  }

  // The same where each server, a device or another one, sums an equal part for all.
  template <class Spread>
  void share_out(Range range, std::span<const int> devices, std::span<const int> ready, std::span<const int> servers,
                 int slot, Spread&& spread) {
    const std::vector<Range> parts = split(range, servers.size(), request_.element_bytes);
    for (size_t s = 0; s < servers.size(); ++s) {
      const int server = servers[s];
      const auto own = static_cast<size_t>(std::ranges::find(devices, server) - devices.begin());
      const bool has_own = own < devices.size();
      std::vector<Arrival> arrivals;
      for (size_t i = 0; i < devices.size(); ++i)
        if (i != own) arrivals.push_back({devices[i], ready[i]});
      const int before = has_own ? ready[own] : -1;
      const int summed = reduces_ ? sum_at(server, has_own, arrivals, parts[s], before, slot) : -1;
      builder_.own(parts[s], server);
      if (!spreads_) continue;
      if (has_own) spread(own, parts[s], summed);
      for (size_t i = 0; i < devices.size(); ++i)
        if (i != own) spread(i, parts[s], builder_.copy({server}, {devices[i]}, parts[s], {summed}, spreading(0)));
    }
  }

  // Adds the arrivals to what `target` has after the step `ready`, in their order, so that the sum is the same bits
  // every time. They land in the slots from `slot` on.
  int sum_at(int target, bool has_own, std::span<const Arrival> arrivals, Range range, int ready = -1, int slot = 1) {
    int summed = ready;
    for (const Arrival& one : arrivals) {
      if (!has_own) {
        summed = builder_.copy({one.device}, {target}, range, {one.after}, reducing(0));
        has_own = true;
        continue;
      }
      const Place scratch{target, slot++};
      const int arrived = builder_.copy({one.device}, scratch, range, {one.after}, reducing(0));
      summed = builder_.reduce(scratch, {target}, range, {arrived, summed});
    }
    return summed;
  }

  const CollectiveRequest& request_;
  PlanBuilder builder_;
  const bool reduces_, spreads_;
};

int root_of(const CollectiveRequest& request) { return request.root.value_or(request.devices.front()); }

// The host of the root's machine, or any.
int host_of(const CollectiveRequest& request) {
  const std::vector<int> hosts = request.topology->hosts();
  const int node = request.topology->node(root_of(request));
  const auto near = std::find_if(hosts.begin(), hosts.end(), [&](int h) { return request.topology->node(h) == node; });
  return near != hosts.end() ? *near : hosts.front();
}

std::vector<int> servers_of(const CollectiveRequest& request) {
  return request.servers.empty() ? request.topology->hosts() : request.servers;
}

CommunicationPlan make_served(const CollectiveRequest& request, std::string_view name, std::vector<int> servers) {
  Writer writer(request, name);
  return writer.write([&](Range slice) { writer.serve(slice, servers); });
}

// Grows from the root along the widest routes; among equals the nearest to the root, then in the order given.
CommunicationPlan make_tree(const CollectiveRequest& request, std::string_view name) {
  std::vector<int> order{root_of(request)};
  std::vector<size_t> parents{0}, children{0}, depths{0};
  std::vector<std::vector<double>> widths{request.topology->bandwidths_from(order[0])};
  std::vector<int> rest;
  for (int device : request.devices)
    if (device != order[0]) rest.push_back(device);
  while (!rest.empty()) {
    size_t parent = 0, chosen = 0;
    double widest = -1;
    for (size_t p = 0; p < order.size(); ++p) {
      if (children[p] == kTreeArity) continue;
      for (size_t c = 0; c < rest.size(); ++c) {
        const double width = widths[p][rest[c]];
        if (width < widest || (width == widest && depths[p] >= depths[parent])) continue;
        widest = width, parent = p, chosen = c;
      }
    }
    order.push_back(rest[chosen]);
    widths.push_back(request.topology->bandwidths_from(rest[chosen]));
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(chosen));
    parents.push_back(parent);
    depths.push_back(depths[parent] + 1);
    children.push_back(0);
    ++children[parent];
  }
  Writer writer(request, name);
  return writer.write([&](Range slice) { writer.pass_tree(slice, order, parents); });
}

CommunicationPlan make_rings(const CollectiveRequest& request, std::string_view name, int most, bool both_ways) {
  std::vector<Ring> rings = find_rings(*request.topology, request.devices, most);
  if (both_ways)
    for (size_t i = 0, count = rings.size(); i < count; ++i) {
      rings.push_back(rings[i]);
      std::reverse(rings.back().devices.begin(), rings.back().devices.end());
    }
  std::vector<double> weights;
  for (const Ring& ring : rings) weights.push_back(ring.bandwidth);
  Writer writer(request, name);
  return writer.write([&](Range slice) {
    if (rings.empty()) writer.own(slice, request.devices[0]);
    const std::vector<Range> parts = split(slice, weights, request.element_bytes);
    for (size_t r = 0; r < rings.size(); ++r) writer.pass_ring(parts[r], rings[r].devices, static_cast<int>(r));
  });
}

// The devices of the request by machine, in their order.
std::vector<std::vector<int>> machines_of(const CollectiveRequest& request) {
  std::map<int, std::vector<int>> machines;
  for (int device : request.devices) machines[request.topology->node(device)].push_back(device);
  std::vector<std::vector<int>> lists;
  for (auto& [node, devices] : machines) lists.push_back(std::move(devices));
  return lists;
}

CommunicationPlan make_hierarchy(const CollectiveRequest& request, std::string_view name, bool in_ring) {
  const std::vector<std::vector<int>> machines = machines_of(request);
  Writer writer(request, name);
  return writer.write([&](Range slice) { writer.pass_hierarchy(slice, machines, in_ring); });
}

std::string always(const CollectiveRequest&) { return {}; }

std::string root_is_device(const CollectiveRequest& request) {
  if (contains(request.devices, root_of(request))) return {};
  return fmt::format("the root {} is not among the devices", request.topology->device_name(root_of(request)));
}

std::string needs_server(const CollectiveRequest& request) {
  return servers_of(request).empty() ? "the topology has no CPU" : "";
}

std::string needs_host(const CollectiveRequest& request) {
  return request.topology->hosts().empty() ? "the topology has no CPU" : "";
}

using Request = CollectiveRequest;

constexpr Strategy kStrategies[] = {
    {"host", "the CPU sums and sends the sum back", needs_host,
     [](const Request& r) { return make_served(r, "host", {host_of(r)}); }},
    {"central", "one device sums and sends the sum back", root_is_device,
     [](const Request& r) { return make_served(r, "central", {root_of(r)}); }},
    {"tree", "sums go up a binary tree along the widest routes, the sum goes down", root_is_device,
     [](const Request& r) { return make_tree(r, "tree"); }},
    {"ring", "chunks go round the widest ring, once to be summed and once to be spread", always,
     [](const Request& r) { return make_rings(r, "ring", 1, false); }},
    {"bidirectional_ring", "half of the buffer goes round the ring each way", always,
     [](const Request& r) { return make_rings(r, "bidirectional_ring", 1, true); }},
    {"rings", "several disjoint rings, each with a part according to its bandwidth", always,
     [](const Request& r) { return make_rings(r, "rings", kMostRings, false); }},
    {"bidirectional_rings", "the same rings, each used both ways", always,
     [](const Request& r) { return make_rings(r, "bidirectional_rings", kMostRings, true); }},
    {"sharded", "each device sums an equal part for all", always,
     [](const Request& r) { return make_served(r, "sharded", r.devices); }},
    {"hierarchical", "the devices of each machine sum first, then machines, sharded; the sums go back the same way",
     always, [](const Request& r) { return make_hierarchy(r, "hierarchical", false); }},
    {"hierarchical_ring", "the same, with a ring over the machines for each device of one", always,
     [](const Request& r) { return make_hierarchy(r, "hierarchical_ring", true); }},
    {"parameter_server", "each server sums an equal part for all; the servers are the CPUs unless named", needs_server,
     [](const Request& r) { return make_served(r, "parameter_server", servers_of(r)); }}};

void check_request(const CollectiveRequest& request) {
  check(!request.devices.empty(), ErrorKind::kValue, "plan: there are no devices; name at least one");
  for (const std::vector<int>& list : {request.devices, request.servers}) {
    std::set<int> seen;
    for (int device : list)
      check(seen.insert(device).second, ErrorKind::kValue, "plan: {} is listed twice",
            request.topology->device_name(device));
  }
  check(request.slices >= 1 && request.slices <= kMostSlices, ErrorKind::kValue,
        "plan: the number of slices must be from 1 to {}, got {}", kMostSlices, request.slices);
  check(request.element_bytes >= 1, ErrorKind::kValue, "plan: an element must have at least 1 byte");
}

}  // namespace

std::vector<int> default_devices(const Topology& topology) {
  const std::vector<int> gpus = topology.gpus();
  return gpus.empty() ? topology.hosts() : gpus;
}

std::span<const Strategy> strategies() { return kStrategies; }

const Strategy& find_strategy(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == name) return strategy;
    names.push_back(strategy.name);
  }
  fail(ErrorKind::kValue, "plan: there is no strategy '{}'; known are {}", name, fmt::join(names, ", "));
}

std::string obstacle_of(const Strategy& strategy, const CollectiveRequest& request) {
  check_request(request);
  return strategy.obstacle(request);
}

CommunicationPlan make_plan(std::string_view name, const CollectiveRequest& request) {
  const Strategy& strategy = find_strategy(name);
  const std::string obstacle = obstacle_of(strategy, request);
  check(obstacle.empty(), ErrorKind::kValue, "plan: {} is not possible here: {}", name, obstacle);
  return strategy.make(request);
}

}  // namespace headrace::kvstore
