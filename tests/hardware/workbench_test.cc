#include "hardware/workbench.h"

#include <gtest/gtest.h>

#include <limits>

#include "hardware/probes.h"
#include "headrace/error.hpp"

namespace headrace::hardware {
namespace {

TEST(Workbench, MemoryIsWrittenAndGrows) {
  Workbench bench({});
  const auto small = bench.memory(4096);
  EXPECT_EQ(small.size(), 4096u);
  EXPECT_NE(small.back(), std::byte{0});
  const auto large = bench.memory(size_t{3} << 20);
  EXPECT_EQ(large.size(), size_t{3} << 20);
  EXPECT_NE(large.back(), std::byte{0});
  EXPECT_EQ(bench.memory(4096).data(), large.data());
}

TEST(Workbench, MemoryThatIsNotThereIsRefused) {
  Workbench bench({});
  EXPECT_THROW(bench.memory(std::numeric_limits<size_t>::max() / 4), NotMeasured);
  EXPECT_EQ(bench.memory(4096).size(), 4096u);
}

TEST(Region, IsAlignedToHugePages) {
  const Region region(5000);
  EXPECT_EQ(region.bytes().size(), 5000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(region.bytes().data()) % (size_t{2} << 20), 0u);
}

TEST(Region, MoreThanTheAddressSpaceIsAnError) { EXPECT_THROW(Region(size_t{1} << 60), Error); }

}  // namespace
}  // namespace headrace::hardware
