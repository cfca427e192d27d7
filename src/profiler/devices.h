// The devices that reports are about.
#pragma once

#include <vector>

#include "headrace/device.hpp"

namespace headrace::profiler {

// Every device with an allocator of its own that somebody has used, in the order of the registry.
std::vector<Device> devices_with_memory();

}  // namespace headrace::profiler
