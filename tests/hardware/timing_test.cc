#include "hardware/timing.h"

#include <gtest/gtest.h>

#include <thread>

namespace headrace::hardware {
namespace {

TEST(Percentile, LiesBetweenTheNeighbours) {
  EXPECT_DOUBLE_EQ(percentile({7}, 0.99), 7);
  EXPECT_DOUBLE_EQ(percentile({3, 1, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(percentile({3, 1, 2}, 1), 3);
  EXPECT_DOUBLE_EQ(percentile({3, 1, 2}, 0.25), 1.5);
  EXPECT_DOUBLE_EQ(percentile({40, 10, 30, 20, 50}, 0.9), 46);
}

TEST(Percentile, MedianIgnoresOutliers) {
  EXPECT_DOUBLE_EQ(median({1, 1000, 2, 3, 2}), 2);
  EXPECT_DOUBLE_EQ(median({1, 2, 3, 4}), 2.5);
}

TEST(SecondsPerItem, EveryRoundHasTheItemsThatItsTimeNeeds) {
  std::vector<int64_t> calls;
  const double seconds = seconds_per_item({0.002, 4}, [&](int64_t items) {
    calls.push_back(items);
    const uint64_t start = steady_ns();
    while (steady_ns() - start < static_cast<uint64_t>(items) * 1000) {
    }
  });
  ASSERT_GE(calls.size(), 4u);
  const int64_t last = calls.back();
  EXPECT_GE(last, 16);
  EXPECT_EQ(std::vector<int64_t>(calls.end() - 4, calls.end()), std::vector<int64_t>(4, last));
  EXPECT_GE(seconds, 1e-6);
}

TEST(Sample, KeepsToItsLimits) {
  int calls = 0;
  EXPECT_EQ(sample(
                {0, 1}, [&] { ++calls; }, 7)
                .size(),
            7u);
  EXPECT_EQ(calls, 7);
  EXPECT_EQ(sample(
                {60, 1}, [&] { ++calls; }, 1, 9)
                .size(),
            9u);
  EXPECT_EQ(calls, 16);
}

}  // namespace
}  // namespace headrace::hardware
