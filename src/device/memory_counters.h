// The memory of one device as counters of the timeline. An allocator owns one and samples when its counts change.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/allocator.h"
#include "headrace/device.hpp"
#include "timeline/timeline.h"

namespace headrace {

class MemoryCounters {
 public:
  explicit MemoryCounters(Device device);
  // Any thread. Does nothing unless memory is being recorded.
  void sample(const MemoryStats& stats) const noexcept;
  // The same, and the peak only where it rises above what was sampled before.
  void sample_change(const MemoryStats& stats) noexcept;

 private:
  const char *live_, *peak_, *pooled_;
  std::atomic<int64_t> sampled_peak_{0};
};

}  // namespace headrace
