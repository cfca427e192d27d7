#include <algorithm>

#include "base/config.h"
#include "kvstore/gang_tasks.h"
#include "kvstore/local_communicator.h"
#include "kvstore/plan_cache.h"
#include "kvstore/reduction.h"
#include "op/call_body.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::kvstore {
namespace {

// The arrays of one device, in the order of the call.
struct Group {
  Device device;
  std::vector<NDArray> arrays;
};

const Group* find_group(const std::vector<Group>& groups, Device device) {
  const auto found = std::ranges::find(groups, device, &Group::device);
  return found == groups.end() ? nullptr : &*found;
}

std::vector<Device> devices_of(const std::vector<Group>& groups) {
  std::vector<Device> devices;
  for (const Group& group : groups) devices.push_back(group.device);
  return devices;
}

NDArray packed_like(const NDArray& array) { return NDArray::empty(array.shape(), array.dtype(), array.device()); }

// The array that a plan works on for a group of results: the first of them, or memory beside it where that one is not
// packed or shares memory with one of `values` that is still to be read.
NDArray working_array(const Group& results, std::span<const NDArray> values) {
  const NDArray& first = results.arrays[0];
  bool is_fit = first.is_contiguous();
  for (size_t i = 0; i < values.size(); ++i)
    is_fit &= !share_memory(first, values[i]) || (i == 0 && same_elements(*first.view(), *values[i].view()));
  return is_fit ? first : packed_like(first);
}

// Writes what a plan left in the working array of a group into its results.
void spread(const NDArray& working, const Group& results) {
  for (const NDArray& result : results.arrays)
    if (!same_elements(*result.view(), *working.view())) copy_into(result, working);
}

class DeviceCommunicator final : public LocalCommunicator {
 public:
  explicit DeviceCommunicator(const Options& options)
      : plans_(options),
        plans_on_host_(!options.strategy.empty()),
        may_gang_(options.strategy.empty() && options.topology.empty() && config().topology.empty()),
        host_(make_host_communicator()) {}

  bool compresses() const noexcept override { return true; }

  Device home(std::span<const NDArray> values, Device stored) const override {
    for (const NDArray& value : values)
      if (place_of(value.device()) == place_of(stored)) return stored;
    return values[0].device();
  }

  void reduce(const Reduction& reduction, std::span<const NDArray> values, const NDArray& result) override {
    if (takes_host_path(values)) return host_->reduce(reduction, values, result);
    const std::vector<Group> groups = group_by_device(values);
    const Device root = place_of(result.device());
    if (groups.size() == 1)
      combine(reduction, values, result);
    else
      reduce_groups(reduction, groups, root, result);
    reduction.finish(result, values.size());
  }

  void broadcast(const NDArray& source, std::span<const NDArray> results, Extent extent, bool keeps) override {
    if (source.device().is_host() && takes_host_path(results)) return host_->broadcast(source, results, extent, keeps);
    const Device root = place_of(source.device());
    std::vector<Group> groups = group_by_device(results);
    const auto local = std::ranges::find(groups, root, &Group::device);
    if (local != groups.end()) {
      const KeepScope keep(keeps);
      for (const NDArray& result : local->arrays) copy_into(result, source);
      groups.erase(local);
    }
    if (groups.empty()) return;
    std::vector<Device> devices{root};
    std::vector<NDArray> buffers{contiguous(source)};
    std::vector<bool> kept{false};  // memory of our own has nothing to keep
    for (const Group& group : groups) {
      devices.push_back(group.device);
      buffers.push_back(working_array(group, {}));
      kept.push_back(keeps && same_elements(*buffers.back().view(), *group.arrays[0].view()));
    }
    if (Gang* const gang = keeps ? nullptr : gang_of(Reduction(), buffers))  // which may fail while it writes
      run_gang(*gang, GangTask::What::kBroadcast, buffers);
    else
      plans_.rooted(Collective::kBroadcast, devices, root, static_cast<size_t>(source.size()), source.dtype())
          .run(buffers, Reduction(), kept);
    const KeepScope keep(keeps);
    for (size_t i = 0; i < groups.size(); ++i) spread(buffers[i + 1], groups[i]);
  }

  void reduce_and_broadcast(const Reduction& reduction, std::span<const NDArray> values,
                            std::span<const NDArray> results, const NDArray& stored, Extent extent) override {
    if (takes_host_path(values) && takes_host_path(results))
      return host_->reduce_and_broadcast(reduction, values, results, stored, extent);
    const std::vector<Group> groups = group_by_device(values), targets = group_by_device(results);
    const bool are_same = groups.size() == targets.size() && std::ranges::all_of(groups, [&](const Group& group) {
                            return find_group(targets, group.device) != nullptr;
                          });
    if (groups.size() == 1 || !are_same) {
      reduce(reduction, values, stored);
      broadcast(stored, results, extent, false);
      return;
    }
    std::vector<NDArray> buffers;
    for (const Group& group : groups) {
      buffers.push_back(working_array(*find_group(targets, group.device), group.arrays));
      combine(reduction, group.arrays, buffers.back());
    }
    if (Gang* const gang = gang_of(reduction, buffers))
      run_gang(*gang, GangTask::What::kAllReduce, buffers);
    else
      plans_.allreduce(devices_of(groups), static_cast<size_t>(stored.size()), stored.dtype()).run(buffers, reduction);
    for (size_t i = 0; i < groups.size(); ++i) {
      reduction.finish(buffers[i], values.size());
      spread(buffers[i], *find_group(targets, groups[i].device));
      if (groups[i].device == place_of(stored.device())) copy_into(stored, buffers[i]);
    }
  }

 private:
  // Where an array is for a plan. All host memory is one place, unless CPU devices are to exchange arrays.
  Device place_of(Device device) const noexcept {
    if (!device.is_host()) return device;
    return {DeviceType::kCpu, plans_on_host_ ? device.id : 0};
  }

  // In the order in which the devices first appear.
  std::vector<Group> group_by_device(std::span<const NDArray> arrays) const {
    std::vector<Group> groups;
    for (const NDArray& array : arrays) {
      const Device device = place_of(array.device());
      auto group = std::ranges::find(groups, device, &Group::device);
      if (group == groups.end()) group = groups.insert(groups.end(), {device, {}});
      group->arrays.push_back(array);
    }
    return groups;
  }

  // `root` is the device of `result`, and one of theirs.
  void reduce_groups(const Reduction& reduction, const std::vector<Group>& groups, Device root, const NDArray& result) {
    std::vector<NDArray> buffers;
    for (const Group& group : groups) buffers.push_back(group.arrays[0]);
    Gang* const gang = find_group(groups, root) ? gang_of(reduction, buffers) : nullptr;
    Executor* const executor = gang ? nullptr
                                    : &plans_.rooted(Collective::kReduce, devices_of(groups), root,
                                                     static_cast<size_t>(result.size()), result.dtype());
    size_t place_of_root = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      const bool is_root = groups[i].device == root;
      if (is_root) place_of_root = i;
      const NDArray own = buffers[i];
      const bool is_readable = groups[i].arrays.size() == 1 && own.is_contiguous() &&
                               (gang || !executor->writes(executor->plan().devices()[i]));
      buffers[i] = is_root ? result : is_readable ? own : packed_like(own);
      if (is_root || !is_readable) combine(reduction, groups[i].arrays, buffers[i]);
    }
    if (gang)
      run_gang(*gang, GangTask::What::kReduce, buffers, place_of_root);
    else
      executor->run(buffers, reduction);
  }

  // What the library of the devices' vendor does, unless the program says how devices sum or what connects them. Null:
  // a plan does it.
  Gang* gang_of(const Reduction& reduction, std::span<const NDArray> buffers) const {
    return may_gang_ && reduction.is_linear() ? find_gang(buffers) : nullptr;
  }

  bool takes_host_path(std::span<const NDArray> arrays) const { return !plans_on_host_ && is_on_host(arrays); }

  PlanCache plans_;
  const bool plans_on_host_;
  const bool may_gang_;
  std::unique_ptr<Communicator> host_;
};

}  // namespace

std::unique_ptr<Communicator> make_device_communicator(const Options& options) {
  return std::make_unique<DeviceCommunicator>(options);
}

}  // namespace headrace::kvstore
