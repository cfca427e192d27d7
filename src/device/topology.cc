#include "device/topology.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "base/check.h"
#include "base/whole_number.h"

namespace headrace {
namespace {

constexpr double kLeastBandwidth = 1, kMostBandwidth = 1e18;  // bytes/s
constexpr double kMostFlops = 1e24;                           // per second
constexpr double kMostLatency = 1000;                         // seconds
constexpr int kMostLanes = 1024;
constexpr double kLeastPayload = 1, kMostFrame = 1e9;  // bytes

void check_bandwidth(double value, std::string_view what, std::string_view owner) {
  check(value >= kLeastBandwidth && value <= kMostBandwidth, ErrorKind::kValue,
        "topology: the {} of {} must be from {:g} to {:g} bytes per second, got {:g}", what, owner, kLeastBandwidth,
        kMostBandwidth, value);
}

// A number of decimal digits, written in one way: no zero in front. -1: it is none.
int number_in(std::string_view digits) {
  if (digits.size() > 1 && digits[0] == '0') return -1;
  return std::max(-1, whole_number<int>(digits).value_or(-1));
}

std::string link_name(const LinkSpec& link) { return fmt::format("link {}-{}", link.from, link.to); }

void check_link(const LinkSpec& link) {
  check(link.from != link.to, ErrorKind::kValue, "topology: {} leads back to where it begins", link_name(link));
  check_bandwidth(link.bandwidth, "bandwidth", link_name(link));
  check(link.latency >= 0 && link.latency <= kMostLatency, ErrorKind::kValue,
        "topology: the latency of {} must be from 0 to {:g} seconds, got {:g}", link_name(link), kMostLatency,
        link.latency);
  check(link.lanes >= 1 && link.lanes <= kMostLanes, ErrorKind::kValue,
        "topology: {} must have from 1 to {} lanes, got {}", link_name(link), kMostLanes, link.lanes);
  const auto [payload, overhead] = link.framing;
  check(payload >= kLeastPayload && payload <= kMostFrame && overhead >= 0 && overhead <= kMostFrame, ErrorKind::kValue,
        "topology: a frame of {} must have from {:g} to {:g} bytes of payload and from 0 to {:g} of overhead, got {:g} "
        "and {:g}",
        link_name(link), kLeastPayload, kMostFrame, kMostFrame, payload, overhead);
}

}  // namespace

void check_rates(const DeviceRates& rates, std::string_view owner) {
  if (rates.bandwidth != kUnlimited) check_bandwidth(rates.bandwidth, "memory bandwidth", owner);
  check(rates.flops == kUnlimited || (rates.flops >= 1 && rates.flops <= kMostFlops), ErrorKind::kValue,
        "topology: the flops of {} must be from 1 to {:g} per second, got {:g}", owner, kMostFlops, rates.flops);
  check(rates.launch >= 0 && rates.launch <= kMostLatency, ErrorKind::kValue,
        "topology: the launch of {} must be from 0 to {:g} seconds, got {:g}", owner, kMostLatency, rates.launch);
}

Topology::Topology(TopologySpec spec) : spec_(std::move(spec)) {
  check(!spec_.devices.empty(), ErrorKind::kValue, "topology: there is no device; list at least one, such as gpu0");
  check(spec_.devices.size() <= kMostDevices && spec_.switches.size() <= kMostDevices, ErrorKind::kValue,
        "topology: there are {} devices and {} switches; at most {} of each are possible", spec_.devices.size(),
        spec_.switches.size(), kMostDevices);
  add_vertices();
  for (const LinkSpec& link : spec_.links) add_link(link);
  check_connected();
}

Topology::Place Topology::parse_place(const std::string& name) {
  std::string_view rest = name;
  Place place{0, {}};
  if (rest.starts_with("node")) {
    const size_t slash = rest.find('/');
    place.node = slash == rest.npos ? -1 : number_in(rest.substr(4, slash - 4));
    rest = slash == rest.npos ? std::string_view() : rest.substr(slash + 1);
  }
  const bool gpu = rest.starts_with("gpu");
  const int id = gpu || rest.starts_with("cpu") ? number_in(rest.substr(3)) : -1;
  check(place.node >= 0 && id >= 0, ErrorKind::kValue,
        "topology: '{}' is no name of a device; write cpu0, gpu1, or node2/gpu0 for a device of another machine", name);
  place.device = {gpu ? DeviceType::kGpu : DeviceType::kCpu, id};
  return place;
}

void Topology::add_vertices() {
  const auto check_new = [&](const std::string& name, int number) {
    check(find_vertex(name) == number, ErrorKind::kValue, "topology: there are two devices or switches named '{}'",
          name);
  };
  int number = 0;
  for (const DeviceSpec& device : spec_.devices) {
    places_.push_back(parse_place(device.name));
    check_new(device.name, number++);
    check_rates(device.rates, device.name);
    const bool limited = device.reduce_bandwidth != kUnlimited;
    if (limited) check_bandwidth(device.reduce_bandwidth, "reduce_bandwidth", device.name);
    reduce_resources_.push_back(limited ? static_cast<int>(resources_.size()) : -1);
    if (limited) resources_.push_back({device.name + " reduce", device.reduce_bandwidth});
  }
  for (const SwitchSpec& one : spec_.switches) {
    check(!one.name.empty(), ErrorKind::kValue, "topology: a switch has an empty name");
    check_new(one.name, number++);
    const bool limited = one.bandwidth != kUnlimited;
    if (limited) check_bandwidth(one.bandwidth, "bandwidth", "switch " + one.name);
    switch_resources_.push_back(limited ? static_cast<int>(resources_.size()) : -1);
    if (limited) resources_.push_back({one.name, one.bandwidth});
  }
  arcs_.resize(number);
}

void Topology::add_link(const LinkSpec& link) {
  check_link(link);
  const auto end_of = [&](const std::string& name) {
    const int vertex = find_vertex(name);
    check(vertex >= 0, ErrorKind::kValue, "topology: {} ends at '{}', which is neither a device nor a switch",
          link_name(link), name);
    return vertex;
  };
  const int a = end_of(link.from), b = end_of(link.to);
  const bool twice = std::any_of(arcs_[a].begin(), arcs_[a].end(), [&](const Arc& arc) { return arc.to == b; });
  check(!twice, ErrorKind::kValue, "topology: {} is there twice; give one link the lanes of both", link_name(link));
  const double wire_bytes = link.framing.wire_bytes();
  const double bandwidth = link.bandwidth * link.lanes / wire_bytes;
  const auto latency = static_cast<int64_t>(std::llround(link.latency * 1e12));
  const int first = static_cast<int>(resources_.size());
  if (link.duplex == Duplex::kShared) {
    resources_.push_back({fmt::format("{}-{}", link.from, link.to), bandwidth, wire_bytes});
  } else {
    resources_.push_back({fmt::format("{}>{}", link.from, link.to), bandwidth, wire_bytes});
    resources_.push_back({fmt::format("{}>{}", link.to, link.from), bandwidth, wire_bytes});
  }
  arcs_[a].push_back({b, first, latency});
  arcs_[b].push_back({a, static_cast<int>(resources_.size()) - 1, latency});
}

// All pairs: where devices do not forward, two devices that a third one reaches may still not reach each other.
void Topology::check_connected() const {
  for (int from = 0; from + 1 < device_count(); ++from) {
    const std::vector<double> widths = bandwidths_from(from);
    for (int to = from + 1; to < device_count(); ++to)
      check(widths[to] > 0, ErrorKind::kValue,
            "topology: no route leads from {} to {}; routes pass links and switches, devices do not forward",
            device_name(from), device_name(to));
  }
}

const std::string& Topology::vertex_name(int vertex) const {
  return vertex < device_count() ? spec_.devices[vertex].name : spec_.switches[vertex - device_count()].name;
}

int Topology::find_vertex(const std::string& name) const {
  for (size_t i = 0; i < spec_.devices.size(); ++i)
    if (spec_.devices[i].name == name) return static_cast<int>(i);
  for (size_t i = 0; i < spec_.switches.size(); ++i)
    if (spec_.switches[i].name == name) return static_cast<int>(spec_.devices.size() + i);
  return -1;
}

int Topology::find_device(std::string_view name) const {
  const int vertex = find_vertex(std::string(name));
  if (vertex >= 0 && vertex < device_count()) return vertex;
  std::string names;
  for (const DeviceSpec& device : spec_.devices) names += (names.empty() ? "" : ", ") + device.name;
  fail(ErrorKind::kValue, "topology {}: there is no device '{}'; it has {}", spec_.name, name, names);
}

std::vector<int> Topology::of_kind(bool host) const {
  std::vector<int> found;
  for (int i = 0; i < device_count(); ++i)
    if (device(i).is_host() == host) found.push_back(i);
  std::ranges::stable_sort(found, {}, [&](int i) { return std::pair(node(i), device(i).id); });
  return found;
}

// What an arc lets through, with the limit of the switch that it leaves.
double Topology::width(int from, const Arc& arc, int source) const {
  if (from < device_count()) return from == source ? resources_[arc.resource].bandwidth : 0;
  const int limit = switch_resources_[from - device_count()];
  return std::min(resources_[arc.resource].bandwidth, limit < 0 ? kUnlimited : resources_[limit].bandwidth);
}

std::vector<double> Topology::bandwidths_from(int from) const {
  std::vector<double> best(arcs_.size(), 0);
  best[from] = kUnlimited;
  std::priority_queue<std::pair<double, int>> queue;
  queue.emplace(kUnlimited, from);
  while (!queue.empty()) {
    const auto [bandwidth, vertex] = queue.top();
    queue.pop();
    if (bandwidth < best[vertex]) continue;
    for (const Arc& arc : arcs_[vertex]) {
      const double through = std::min(bandwidth, width(vertex, arc, from));
      if (through <= best[arc.to]) continue;
      best[arc.to] = through;
      queue.emplace(through, arc.to);
    }
  }
  return best;
}

Route Topology::route(int from, int to) const { return Routes(*this, from).to(to); }

// The paths of least latency, then of fewest links, over what lets `bandwidth` through.
const Routes::Ways& Routes::ways_of(double bandwidth) {
  const auto [known, is_new] = ways_.try_emplace(bandwidth);
  Ways& ways = known->second;
  if (!is_new) return ways;
  ways.best.assign(topology_.arcs_.size(), {std::numeric_limits<int64_t>::max(), 0});
  ways.back.assign(topology_.arcs_.size(), {-1, nullptr});
  using Entry = std::pair<Distance, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  ways.best[from_] = {0, 0};
  queue.emplace(ways.best[from_], from_);
  while (!queue.empty()) {
    const auto [distance, vertex] = queue.top();
    queue.pop();
    if (distance > ways.best[vertex]) continue;
    for (const Topology::Arc& arc : topology_.arcs_[vertex]) {
      const Distance next{distance.first + arc.latency_ps, distance.second + 1};
      if (topology_.width(vertex, arc, from_) < bandwidth || next >= ways.best[arc.to]) continue;
      ways.best[arc.to] = next;
      ways.back[arc.to] = {vertex, &arc};
      queue.emplace(next, arc.to);
    }
  }
  return ways;
}

Route Routes::to(int target) {
  Route route;
  route.vertices = {from_};
  route.bandwidth = kUnlimited;
  if (from_ == target) return route;
  route.bandwidth = bandwidths_[target];
  const Ways& ways = ways_of(route.bandwidth);
  route.latency_ps = ways.best[target].first;
  route.vertices.clear();
  for (int vertex = target; vertex >= 0; vertex = ways.back[vertex].first) {
    route.vertices.push_back(vertex);
    const auto [previous, arc] = ways.back[vertex];
    if (!arc) continue;
    route.resources.push_back(arc->resource);
    const int devices = topology_.device_count();
    const int limit = previous < devices ? -1 : topology_.switch_resources_[previous - devices];
    if (limit >= 0) route.resources.push_back(limit);
  }
  std::reverse(route.vertices.begin(), route.vertices.end());
  std::reverse(route.resources.begin(), route.resources.end());
  return route;
}

}  // namespace headrace
