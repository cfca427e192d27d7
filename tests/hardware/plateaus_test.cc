#include "hardware/plateaus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace headrace::hardware {
namespace {

constexpr size_t kKiB = 1 << 10, kMiB = 1 << 20;

std::vector<LatencyPoint> curve(const std::function<double(double bytes)>& nanoseconds) {
  std::vector<LatencyPoint> points;
  for (double bytes = 4 * kKiB; bytes < 257.0 * kMiB; bytes *= std::sqrt(2.0))
    points.push_back({static_cast<size_t>(bytes + 0.5), nanoseconds(bytes + 0.5) * 1e-9});
  return points;
}

// What a cache of this size leaves of the accesses to the next level, when lines are replaced at random.
double missed(double bytes, double cache) { return std::max(0.0, 1 - cache / bytes); }

double machine(double bytes) {
  return 1.2 + 3 * missed(bytes, 32.0 * kKiB) + 11 * missed(bytes, 1.0 * kMiB) + 80 * missed(bytes, 32.0 * kMiB);
}

void expect_sizes(const std::vector<Plateau>& plateaus, const std::vector<size_t>& sizes) {
  ASSERT_EQ(plateaus.size(), sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double ratio = static_cast<double>(plateaus[i].largest_bytes) / static_cast<double>(sizes[i]);
    EXPECT_GT(ratio, 0.7) << i;
    EXPECT_LT(ratio, 1.45) << i;
  }
}

TEST(Plateaus, OfSteps) {
  const auto plateaus = find_plateaus(curve([](double bytes) {
    return bytes <= 48 * kKiB + 1 ? 1.0 : bytes <= 2 * kMiB + 1 ? 4.0 : bytes <= 16 * kMiB + 1 ? 15.0 : 90.0;
  }));
  expect_sizes(plateaus, {48 * kKiB, 2 * kMiB, 16 * kMiB, 256 * kMiB});
  EXPECT_DOUBLE_EQ(plateaus[1].seconds, 4e-9);
  EXPECT_DOUBLE_EQ(plateaus[3].seconds, 90e-9);
}

TEST(Plateaus, OfCachesThatMissMoreAndMore) {
  expect_sizes(find_plateaus(curve(machine)), {32 * kKiB, 1 * kMiB, 32 * kMiB, 256 * kMiB});
}

TEST(Plateaus, OfNoisyMeasurements) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> noise(0.97, 1.03);
    const auto plateaus = find_plateaus(curve([&](double bytes) { return machine(bytes) * noise(random); }));
    ASSERT_GE(plateaus.size(), 3u) << seed;
    expect_sizes({plateaus.begin(), plateaus.begin() + 2}, {32 * kKiB, 1 * kMiB});
  }
}

TEST(Plateaus, BumpsInsideALevelDoNotDivideIt) {
  const auto plateaus = find_plateaus(curve([](double bytes) {
    return bytes < 128.0 * kKiB ? 1.0 : bytes < 16.0 * kMiB ? 1.27 : 30.0;
  }));
  ASSERT_EQ(plateaus.size(), 2u);
  EXPECT_GT(plateaus[0].largest_bytes, 8 * kMiB);
}

TEST(Plateaus, OfAFlatCurveAndOfNone) {
  EXPECT_EQ(find_plateaus(curve([](double) { return 3.0; })).size(), 1u);
  EXPECT_TRUE(find_plateaus({}).empty());
  const LatencyPoint only{4096, 1e-9};
  EXPECT_TRUE(find_plateaus({&only, 1}).empty());
}

}  // namespace
}  // namespace headrace::hardware
