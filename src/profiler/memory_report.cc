#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "device/registry.h"
#include "headrace/memory.hpp"
#include "profiler/devices.h"

namespace headrace {

std::vector<Device> profiler::devices_with_memory() {
  std::vector<Device> devices;
  std::vector<const Allocator*> seen;
  for (const BackendEntry& entry : all_backends()) {
    for (int id = 0; id < std::min(device_count(entry.type), Accelerator::kMost); ++id) {
      const Allocator* const allocator = entry.backend->allocator_in_use(id);
      if (!allocator) continue;
      if (std::ranges::find(seen, allocator) != seen.end()) break;  // all ids of the host are one memory
      seen.push_back(allocator);
      devices.push_back({entry.type, id});
    }
  }
  return devices;
}

std::vector<DeviceMemory> memory_report() {
  std::vector<DeviceMemory> rows;
  for (const Device device : profiler::devices_with_memory()) {
    const MemoryStats stats = allocator_of(device).stats();
    rows.push_back({device, stats.live, stats.peak, stats.pooled});
  }
  return rows;
}

std::string to_string(const std::vector<DeviceMemory>& report) {
  std::string text = fmt::format("{:<16}{:>14}{:>14}{:>14}\n", "device", "live (MiB)", "peak (MiB)", "pooled (MiB)");
  const auto mib = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  for (const DeviceMemory& row : report)
    fmt::format_to(std::back_inserter(text), "{:<16}{:>14.2f}{:>14.2f}{:>14.2f}\n", to_string(row.device),
                   mib(row.live), mib(row.peak), mib(row.pooled));
  return text;
}

}  // namespace headrace
