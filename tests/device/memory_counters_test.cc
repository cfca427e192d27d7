#include "device/memory_counters.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "device/registry.h"

namespace headrace {
namespace {

// The values of every counter, in the order in which this thread recorded them.
std::map<std::string, std::vector<int64_t>> values() {
  std::map<std::string, std::vector<int64_t>> found;
  for (const timeline::Lane& lane : timeline::collect())
    for (const timeline::Sample& sample : lane.samples) found[sample.name].push_back(sample.value);
  return found;
}

TEST(MemoryCounters, OneCurvePerKindOfBytes) {
  MemoryCounters memory({DeviceType::kGpu, 3});
  timeline::start();
  memory.sample({.live = 1, .peak = 5, .pooled = 2});
  memory.sample_change({.live = 6, .peak = 6, .pooled = 0});
  memory.sample_change({.live = 4, .peak = 6, .pooled = 2});
  timeline::stop();
  memory.sample({.live = 9, .peak = 9, .pooled = 9});
  const auto found = values();
  EXPECT_EQ(found.at("Memory: gpu/3"), (std::vector<int64_t>{1, 6, 4}));
  EXPECT_EQ(found.at("Peak memory: gpu/3"), (std::vector<int64_t>{5, 6}));  // only when it rises
  EXPECT_EQ(found.at("Pooled memory: gpu/3"), (std::vector<int64_t>{2, 0, 2}));
}

TEST(MemoryCounters, LargeBlocksOfTheHostAreSampled) {
  Allocator& allocator = allocator_of(Device{});
  constexpr size_t kBytes = 1 << 20;
  timeline::start(static_cast<timeline::Sources>(timeline::Source::kMemory));
  void* block = allocator.allocate(kBytes);
  allocator.release(block, kBytes);
  timeline::stop();
  const auto live = values().at("Memory: cpu/0");
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0] - live[1], static_cast<int64_t>(kBytes));
}

}  // namespace
}  // namespace headrace
