#include "device/memory_counters.h"

#include <fmt/format.h>

namespace headrace {
namespace {

// MXNet's name of the first is "Memory: cpu/0".
const char* counter_name(const char* what, Device device) {
  const std::string name = to_string(device);
  return timeline::intern(fmt::format("{}: {}/{}", what, name.substr(0, name.find('(')), device.id));
}

}  // namespace

MemoryCounters::MemoryCounters(Device device)
    : live_(counter_name("Memory", device)),
      peak_(counter_name("Peak memory", device)),
      pooled_(counter_name("Pooled memory", device)) {}

void MemoryCounters::sample(const MemoryStats& stats) const noexcept {
  timeline::counter({live_, timeline::kDeviceMemory}, stats.live);
  timeline::counter({pooled_, timeline::kDeviceMemory}, stats.pooled);
  timeline::counter({peak_, timeline::kDeviceMemory}, stats.peak);
}

void MemoryCounters::sample_change(const MemoryStats& stats) noexcept {
  const uint64_t now = ticks();
  timeline::counter({live_, timeline::kDeviceMemory}, stats.live, now);
  timeline::counter({pooled_, timeline::kDeviceMemory}, stats.pooled, now);
  if (sampled_peak_.load(std::memory_order_relaxed) >= stats.peak) return;
  sampled_peak_.store(stats.peak, std::memory_order_relaxed);
  timeline::counter({peak_, timeline::kDeviceMemory}, stats.peak, now);
}

}  // namespace headrace
