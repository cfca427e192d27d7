#include "backend/sim/machine.h"

#include <algorithm>

#include "base/check.h"

namespace headrace::sim {
namespace {

constexpr double kMostPushSeconds = 1000;

}  // namespace

MachineSpec::MachineSpec(std::shared_ptr<const Topology> of) : topology(std::move(of)) {
  for (const DeviceSpec& device : topology->spec().devices) rates.push_back(device.rates);
}

Machine::Machine(MachineSpec spec) : spec_(std::move(spec)), gpus_(topology().gpus()), hosts_(topology().hosts()) {
  const Topology& topology = *spec_.topology;
  check(spec_.rates.size() == topology.spec().devices.size(), ErrorKind::kValue,
        "machine: topology {} has {} devices, got rates for {}; give each device its rates", topology.name(),
        topology.device_count(), spec_.rates.size());
  for (int device = 0; device < topology.device_count(); ++device)
    check_rates(spec_.rates[device], topology.device_name(device));
  check(spec_.push_seconds >= 0 && spec_.push_seconds <= kMostPushSeconds, ErrorKind::kValue,
        "machine: pushing an operation must take from 0 to {:g} seconds, got {:g}", kMostPushSeconds,
        spec_.push_seconds);
  check(spec_.most_pending >= 1, ErrorKind::kValue,
        "machine: at least one pending operation must be possible, got most_pending = {}", spec_.most_pending);
  if (hosts_.empty()) return;
  host_rates_ = {0, 0, spec_.rates[hosts_[0]].launch};
  for (int host : hosts_) {
    if (topology.node(host) != topology.node(hosts_[0])) break;
    host_rates_.flops += spec_.rates[host].flops;
    host_rates_.bandwidth += spec_.rates[host].bandwidth;
  }
}

int Machine::check_gpu(int gpu, std::string_view work) const {
  check(gpu >= 0 && gpu < gpu_count(), ErrorKind::kValue,
        "machine {}: '{}' runs on gpu({}), but there are {} GPUs. Use a topology with more, or fewer devices.",
        topology().name(), work, gpu, gpu_count());
  return gpu;
}

int Machine::host_of(int gpu) const {
  const int node = topology().node(gpus_[gpu]);
  const auto found = std::ranges::find(hosts_, node, [&](int host) { return topology().node(host); });
  check(found != hosts_.end(), ErrorKind::kValue,
        "machine {}: nothing can be copied between gpu({}) and the host: node {} has no CPU. Add one to the topology.",
        topology().name(), gpu, node);
  return *found;
}

Route Machine::route_from_host(int gpu) const { return topology().route(host_of(gpu), gpus_[gpu]); }
Route Machine::route_to_host(int gpu) const { return topology().route(gpus_[gpu], host_of(gpu)); }
Route Machine::route_between(int source, int target) const { return topology().route(gpus_[source], gpus_[target]); }

}  // namespace headrace::sim
