// How much memory the devices hold. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/device.hpp"

namespace headrace {

struct DeviceMemory {  // bytes
  Device device;
  int64_t live;    // in use
  int64_t peak;    // the most that ever was in use
  int64_t pooled;  // free, kept for the next arrays
};

// One row per device that has memory of its own; all CPU devices are one.
std::vector<DeviceMemory> memory_report();

// The rows as a table with a head line.
std::string to_string(const std::vector<DeviceMemory>& report);

}  // namespace headrace
