// Which devices of this process the devices of a topology are. gpu(i) is the i-th GPU, counted by node and then by
// number, as simulated machines have it (docs/devices.md). cpu(i) is the CPU of that number on the first node with
// CPUs; cpu(0) is the first one there, whatever its number. Any thread.
#pragma once

#include <optional>

#include "device/topology.h"

namespace headrace::kvstore {

// Number in the topology; nothing: it has no such device.
std::optional<int> number_of(const Topology& topology, Device device);
Device device_of(const Topology& topology, int number);

}  // namespace headrace::kvstore
