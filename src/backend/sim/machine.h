// A machine on paper: a topology with rates, and which of its devices gpu(0), gpu(1)... and the host are.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "device/topology.h"

namespace headrace::sim {

struct MachineSpec {
  // Takes the rates that the topology declares.
  explicit MachineSpec(std::shared_ptr<const Topology> topology);

  std::shared_ptr<const Topology> topology;
  std::vector<DeviceRates> rates;  // by device of the topology
  double push_seconds = 0.3e-6;    // of the frontend per operation: Headrace's Python, see benchmarks/README.md
  // With so many operations that have not ended the frontend waits until half of them have, as the engine has it wait.
  int64_t most_pending = Config().max_pending;
};

// gpu(i) is the i-th GPU of the topology, counted by node and then by number. The host is the CPUs of the first node
// that has one, together: their flops and bandwidths added, the launch of the first. All host devices are it.
// Never changes, so any thread may call any function.
class Machine {
 public:
  // Raises ValueError for rates that make no sense.
  explicit Machine(MachineSpec spec);

  const MachineSpec& spec() const noexcept { return spec_; }
  const Topology& topology() const noexcept { return *spec_.topology; }
  int gpu_count() const noexcept { return static_cast<int>(gpus_.size()); }
  const DeviceRates& host_rates() const noexcept { return host_rates_; }
  const DeviceRates& gpu_rates(int gpu) const { return spec_.rates[gpus_[gpu]]; }

  // Raises ValueError, naming what runs there, when there is no such GPU.
  int check_gpu(int gpu, std::string_view work) const;
  // Between a GPU and the first CPU of its node; raises ValueError where its node has none.
  Route route_from_host(int gpu) const;
  Route route_to_host(int gpu) const;
  Route route_between(int source, int target) const;

 private:
  int host_of(int gpu) const;

  MachineSpec spec_;
  std::vector<int> gpus_, hosts_;  // numbers in the topology, by node and number
  DeviceRates host_rates_;
};

}  // namespace headrace::sim
