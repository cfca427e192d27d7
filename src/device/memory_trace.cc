#include "device/memory_trace.h"

#include <fmt/format.h>

namespace headrace {
namespace {

// MXNet's name of the first is "Memory: cpu/0".
const char* counter_name(const char* what, Device device) {
  const std::string name = to_string(device);
  return trace::intern(fmt::format("{}: {}/{}", what, name.substr(0, name.find('(')), device.id));
}

}  // namespace

MemoryTrace::MemoryTrace(Device device)
    : live_(counter_name("Memory", device)),
      peak_(counter_name("Peak memory", device)),
      pooled_(counter_name("Pooled memory", device)) {}

void MemoryTrace::sample(const MemoryStats& stats) const noexcept {
  trace::counter({live_, trace::kDeviceMemory}, stats.live);
  trace::counter({pooled_, trace::kDeviceMemory}, stats.pooled);
  trace::counter({peak_, trace::kDeviceMemory}, stats.peak);
}

void MemoryTrace::sample_change(const MemoryStats& stats) noexcept {
  const uint64_t now = ticks();
  trace::counter({live_, trace::kDeviceMemory}, stats.live, now);
  trace::counter({pooled_, trace::kDeviceMemory}, stats.pooled, now);
  if (sampled_peak_.load(std::memory_order_relaxed) >= stats.peak) return;
  sampled_peak_.store(stats.peak, std::memory_order_relaxed);
  trace::counter({peak_, trace::kDeviceMemory}, stats.peak, now);
}

}  // namespace headrace
