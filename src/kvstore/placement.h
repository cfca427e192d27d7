// Which devices of this process the devices of a topology are. gpu(i) is the i-th GPU, counted by node and then by
// number, as simulated machines have it (docs/devices.md). cpu(i) is the CPU of that number on the first node, or, where
// there is none, the first CPU: all of them stand for host memory. Any thread.
#pragma once

#include <optional>

#include "device/topology.h"

namespace headrace::kvstore {

// Number in the topology; nothing: it has no such device.
std::optional<int> number_of(const Topology& topology, Device device);
Device device_of(const Topology& topology, int number);

}  // namespace headrace::kvstore
