// Simulated machines, and programs on them, for the tests of src/backend/sim.
#pragma once

#include <string>
#include <vector>

#include "backend/sim/virtual_machine.h"
#include "tests/device/topologies.h"
#include "timeline/timeline.h"

namespace headrace::sim {

inline constexpr Device kCpu{DeviceType::kCpu, 0};
inline Device gpu(int id) { return {DeviceType::kGpu, id}; }

// A CPU and GPUs, each joined to each other directly: no two copies share a link. 1 GB/s, no latency: 1 byte takes
// 1000 ps. Every device does one flop in 1 ps and moves one byte of memory in 1 ps. Pushing takes no time.
inline MachineSpec simple_machine(int gpus, double latency = 0) {
  TopologySpec spec{"simple", {{"cpu0"}}, {}, {}};
  for (int i = 0; i < gpus; ++i) {
    spec.devices.push_back({"gpu" + std::to_string(i)});
    for (int j = -1; j < i; ++j)
      spec.links.push_back({spec.devices[i + 1].name, spec.devices[j + 1].name, 1e9, latency});
  }
  for (DeviceSpec& device : spec.devices) device.rates = {1e12, 1e12, 0};
  MachineSpec machine(std::make_shared<Topology>(spec));
  machine.push_seconds = 0;
  return machine;
}

using Names = std::vector<std::string>;

// Pushes operations onto a virtual machine. Resources are named by short texts.
class Program {
 public:
  explicit Program(MachineSpec spec) : vm(std::move(spec)) {}

  void compute(Device device, double flops, const Names& reads, const Names& writes, int priority = 0) {
    push({.name = "compute", .device = device, .flops = flops, .priority = priority}, reads, writes);
  }
  // Between the host and a GPU, or two GPUs, with the role that belongs to it.
  void copy(Device from, Device to, double bytes, const Names& reads, const Names& writes) {
    PushedWork work{.name = "copy", .device = to, .role = StreamRole::kHostToDevice, .bytes = bytes};
    if (to.is_host()) {
      work.device = from;
      work.role = StreamRole::kDeviceToHost;
    } else if (!from.is_host()) {
      work.role = StreamRole::kCommunication;
      work.source = from;
    }
    push(work, reads, writes);
  }
  void push(PushedWork work, const Names& reads, const Names& writes) {
    const std::vector<const void*> read = addresses(reads), written = addresses(writes);
    work.reads = read;
    work.writes = written;
    vm.pushed(work);
  }
  int64_t wait(const std::string& resource, bool for_all = false) {
    vm.waited(timeline::intern(resource), for_all);
    return vm.now_ps();
  }
  int64_t wait_all() {
    vm.waited_all();
    return vm.now_ps();
  }

  static std::vector<const void*> addresses(const Names& names) {
    std::vector<const void*> found;
    for (const std::string& name : names) found.push_back(timeline::intern(name));
    return found;
  }

  VirtualMachine vm;
};

}  // namespace headrace::sim
