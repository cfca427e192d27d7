// Conversions of half types against their scalar definition.
#include "op/simd/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace headrace {
namespace {

template <class Half>
class HalfTest : public testing::Test {};
using Halves = testing::Types<Float16, Bfloat16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, WidensEveryValue) {
  std::vector<TypeParam> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i].bits = static_cast<uint16_t>(i);
  for (const size_t n : {size_t{1}, size_t{7}, size_t{33}, halves.size()}) {
    std::vector<float> wide(n + 1, -7);
    simd::widen(halves.data(), wide.data(), static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) {
      const float expected = halves[i];
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(wide[i])
                                       : std::bit_cast<uint32_t>(wide[i]) == std::bit_cast<uint32_t>(expected))
          << i;
    }
    EXPECT_EQ(wide[n], -7) << "wrote past the end";
  }
}

TYPED_TEST(HalfTest, NarrowsToNearestEven) {
  std::vector<float> wide = {1 + 1.0f / 256 + 1.0f / 4096,
                             65519,
                             65520,
                             1e-8f,
                             -0.0f,
                             INFINITY,
                             -INFINITY,
                             NAN,
                             3.4e38f,
                             6e-8f,
                             2.98e-8f,
                             2.99e-8f};
  std::mt19937 random(5);
  for (int i = 0; i < 300'000; ++i) wide.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  for (int i = 0; i < 65536; ++i) {  // ties, and one step to either side of them
    TypeParam low, high;
    low.bits = static_cast<uint16_t>(i);
    high.bits = static_cast<uint16_t>(i + 1);
    const float middle =
        static_cast<float>((static_cast<double>(static_cast<float>(low)) + static_cast<float>(high)) / 2);
    wide.insert(wide.end(), {middle, std::nextafter(middle, INFINITY), std::nextafter(middle, -INFINITY)});
  }
  for (const size_t n : {size_t{1}, size_t{5}, size_t{47}, wide.size()}) {
    std::vector<TypeParam> halves(n + 1);
    halves[n].bits = 1234;
    simd::narrow(wide.data(), halves.data(), static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) {
      const TypeParam expected(wide[i]);
      if (std::isnan(wide[i])) {
        ASSERT_TRUE(std::isnan(static_cast<float>(halves[i]))) << i;
      } else {
        ASSERT_EQ(halves[i].bits, expected.bits) << wide[i];
      }
    }
    EXPECT_EQ(halves[n].bits, 1234) << "wrote past the end";
  }
}

}  // namespace
}  // namespace headrace
