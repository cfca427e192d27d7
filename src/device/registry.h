// Which backend serves which device type. Filled once, from the explicit list in backend/backends.cc; immutable
// afterwards, so any thread may call any function. The registry lives as long as the process.
#pragma once

#include <span>

#include "device/allocator.h"
#include "device/backend.h"
#include "headrace/device.hpp"

namespace headrace {

// Raises Error(kRuntime) when no such device exists.
Allocator& allocator_of(Device device);
// Likewise; null for the host.
Accelerator* accelerator_of(Device device);
// The stream for operations on a device; null for the host.
Stream* compute_stream(Device device);
// The stream for a copy between two devices; null between places of the host.
Stream* copy_stream(Device to, Device from);
int device_count(DeviceType type);
// What links the devices of a type; null: it is not known.
std::shared_ptr<const Topology> topology_of(DeviceType type);

struct BackendEntry {
  DeviceType type;
  Backend* backend;  // lives as long as the process
};

// The explicit list of backends in this build; defined in backend/backends.cc. The first call raises Error for a
// configuration that a backend cannot take.
std::span<const BackendEntry> builtin_backends();

void backends_end_threads() noexcept;
void backends_before_fork() noexcept;
void backends_after_fork(bool in_child) noexcept;

}  // namespace headrace
