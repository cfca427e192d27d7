#include <gtest/gtest.h>

#include <limits>

#include "ops/shape/slice_range.h"

namespace headrace {
namespace {

TEST(SliceRange, StepsOfAnySize) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(slice_range({}, {}, 2, 5, "slice").count, 3);
  EXPECT_EQ(slice_range({}, {}, -2, 4, "slice").count, 2);
  EXPECT_EQ(slice_range({}, {}, kMost, 5, "slice").count, 1);
  EXPECT_EQ(slice_range({}, {}, kLeast, 5, "slice").count, 1);
  EXPECT_EQ(slice_range(kLeast, kMost, kMost, 1, "slice").count, 1);
  EXPECT_EQ(slice_range(kMost, kLeast, kLeast, 0, "slice").count, 0);
}

}  // namespace
}  // namespace headrace
