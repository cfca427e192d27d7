#include "kvstore/plan_cache.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/config.h"
#include "device/registry.h"
#include "kvstore/placement.h"

namespace headrace::kvstore {
namespace {

constexpr size_t kLeastSliceBytes = 256 * 1024;  // smaller slices cost more to issue than they save

std::string name_in_topology(Device device) {
  return fmt::format("{}{}", device.type == DeviceType::kGpu ? "gpu" : "cpu", device.id);
}

CollectiveRequest request_of(const std::shared_ptr<const Topology>& topology, Collective collective,
                             const std::vector<int>& devices, std::optional<int> root, size_t bytes,
                             size_t element_bytes) {
  return {.topology = topology,
          .devices = devices,
          .bytes = bytes,
          .collective = collective,
          .root = root,
          .servers = {},
          .slices = 1,
          .element_bytes = element_bytes};
}

bool is_owned_by_root(const Strategy& strategy, const CollectiveRequest& request) {
  const CommunicationPlan plan = strategy.make(request);
  return std::ranges::all_of(plan.owners(), [&](const Owner& owner) { return owner.device == *request.root; });
}

}  // namespace

PlanCache::PlanCache(const Options& options) {
  if (!options.strategy.empty()) strategy_ = &find_strategy(options.strategy);
  const std::string& topology = options.topology.empty() ? config().topology : options.topology;
  if (!topology.empty()) declared_ = std::make_shared<Topology>(load_topology(topology));
}

Executor& PlanCache::allreduce(std::span<const Device> devices, size_t elements, DType dtype) {
  return find(group_of(Collective::kAllreduce, devices, {}), elements, dtype);
}

Executor& PlanCache::rooted(Collective collective, std::span<const Device> devices, Device root, size_t elements,
                            DType dtype) {
  return find(group_of(collective, devices, root), elements, dtype);
}

PlanCache::Group PlanCache::group_of(Collective collective, std::span<const Device> devices,
                                     std::optional<Device> root) {
  Group group{topology_for(devices), collective, {}, {}};
  for (const Device& device : devices) {
    const std::optional<int> number = number_of(*group.topology, device);
    check(number.has_value(), ErrorKind::kValue,
          "kvstore: the topology '{}' has no {}; name one that has all devices of the arrays (HEADRACE_TOPOLOGY, or "
          "the option topology of create)",
          group.topology->name(), to_string(device));
    group.devices.push_back(*number);
    if (root == device) group.root = number;
  }
  return group;
}

// What is declared, by the program or by the backend of the GPUs; else a star of the devices and the CPU, which some
// strategies want.
std::shared_ptr<const Topology> PlanCache::topology_for(std::span<const Device> devices) {
  if (declared_) return declared_;
  std::vector<std::string> names;
  for (const Device& device : devices) {
    if (!device.is_host())
      if (std::shared_ptr<const Topology> known = topology_of(device.type)) return known;
    names.push_back(name_in_topology(device));
  }
  const std::string host = name_in_topology({});
  if (std::ranges::find(names, host) == names.end()) names.push_back(host);
  std::shared_ptr<const Topology>& star = stars_[names];
  if (!star) star = std::make_shared<Topology>(star_topology(names));
  return star;
}

PlanCache::Choice PlanCache::choose(const Group& group, size_t bytes, size_t element_bytes) const {
  const CollectiveRequest request =
      request_of(group.topology, group.collective, group.devices, group.root, bytes, element_bytes);
  std::vector<Comparison> rows;
  if (strategy_) {
    const std::string obstacle = obstacle_of(*strategy_, request);
    check(obstacle.empty(), ErrorKind::kValue, "kvstore: the strategy '{}' is not possible on '{}': {}",
          strategy_->name, group.topology->name(), obstacle);
    if (!group.root || is_owned_by_root(*strategy_, request)) rows.push_back(predict(*strategy_, request));
  }
  if (rows.empty()) {
    for (const Strategy& strategy : strategies())
      if (!group.root || (obstacle_of(strategy, request).empty() && is_owned_by_root(strategy, request)))
        rows.push_back(predict(strategy, request));
  }
  const Comparison* best = fastest(rows);
  const size_t most = std::max<size_t>(1, bytes / kLeastSliceBytes);
  return {best->strategy, static_cast<int>(std::min<size_t>(most, static_cast<size_t>(best->sliced.slices)))};
}

Executor& PlanCache::find(const Group& group, size_t elements, DType dtype) {
  const std::tuple place(group, elements, dtype);
  if (const auto known = executors_.find(place); known != executors_.end()) return known->second;
  const size_t element_bytes = item_size(dtype), bytes = elements * element_bytes;
  const size_t size_class = std::bit_ceil(bytes);
  const std::tuple kind(group, size_class, element_bytes);
  auto choice = choices_.find(kind);
  if (choice == choices_.end()) choice = choices_.emplace(kind, choose(group, size_class, element_bytes)).first;
  CollectiveRequest request =
      request_of(group.topology, group.collective, group.devices, group.root, bytes, element_bytes);
  request.slices = choice->second.slices;
  return executors_.emplace(place, Executor(choice->second.strategy->make(request), dtype)).first->second;
}

}  // namespace headrace::kvstore
