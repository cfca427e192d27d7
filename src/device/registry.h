// Which backend serves which device type. Filled once, from the list in backend/backends.cc; immutable afterwards, so
// any thread may call any function. The registry lives as long as the process.
#pragma once

#include <span>
#include <string>

#include "device/allocator.h"
#include "device/backend.h"
#include "headrace/device.hpp"

namespace headrace {

class KernelTable;  // op/kernel_table.h

// Raises Error(kRuntime) when no such device exists.
Allocator& allocator_of(Device device);
// Likewise; null for the host.
Accelerator* accelerator_of(Device device);
// The stream for operations on a device; null for the host.
Stream* compute_stream(Device device);
// The stream for a copy between two devices; null between places of the host.
Stream* copy_stream(Device to, Device from);
// Raises what an accelerator says of a block of its memory whose contents are lost, see Accelerator::lost_contents().
void check_contents(Device device, const void* block);
int device_count(DeviceType type);
// Null: there is none for the type.
Backend* backend_of(DeviceType type);
// Null: the host's code runs there. Any thread.
const KernelTable* kernels_of(DeviceType type);
// What links the devices of a type; null: it is not known.
std::shared_ptr<const Topology> topology_of(DeviceType type);

struct BackendEntry {
  DeviceType type;
  Backend* backend;  // lives as long as the process
  // Of devices that do not run the host's code: the kernels that they have, which live as long as the process. Called
  // when the first operation is launched. Null: the host's code is their device code, too.
  const KernelTable& (*kernels)() = nullptr;
};

// Those of this build and those of libraries that HEADRACE_BACKENDS names; defined in backend/backends.cc. A call
// raises Error for a library that cannot be loaded and a configuration that a backend cannot take.
std::span<const BackendEntry> all_backends();

// Why GPUs of this machine, which nobody has said not to use, are not used; empty: there are none, or they are.
// Likewise defined in backend/backends.cc.
const std::string& why_gpus_are_unused();

void backends_end_threads() noexcept;
void backends_before_fork() noexcept;
void backends_after_fork(bool in_child) noexcept;

}  // namespace headrace
