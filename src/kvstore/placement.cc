#include "kvstore/placement.h"

#include <algorithm>
#include <vector>

namespace headrace::kvstore {

std::optional<int> number_of(const Topology& topology, Device device) {
  if (!device.is_host()) {
    const std::vector<int> gpus = topology.gpus();
    if (device.id < 0 || device.id >= static_cast<int>(gpus.size())) return std::nullopt;
    return gpus[static_cast<size_t>(device.id)];
  }
  const std::vector<int> hosts = topology.hosts();
  if (hosts.empty()) return std::nullopt;
  const auto own = std::ranges::find_if(
      hosts, [&](int i) { return topology.node(i) == topology.node(hosts[0]) && topology.device(i).id == device.id; });
  if (own != hosts.end()) return *own;
  return device.id == 0 ? std::optional(hosts[0]) : std::nullopt;
}

Device device_of(const Topology& topology, int number) {
  const Device named = topology.device(number);
  if (named.is_host()) return {DeviceType::kCpu, topology.node(number) == 0 ? named.id : 0};
  const std::vector<int> gpus = topology.gpus();
  return {DeviceType::kGpu, static_cast<int32_t>(std::ranges::find(gpus, number) - gpus.begin())};
}

}  // namespace headrace::kvstore
