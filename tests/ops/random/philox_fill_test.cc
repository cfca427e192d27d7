#include "ops/random/philox_fill.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "every_target.h"
#include "ops/random/philox.h"

namespace headrace {
namespace {

constexpr int64_t kRangeLengths[] = {0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 191, 192, 193, 384, 1000};
// Of elements; the last ranges go past what 32 bits of a counter hold.
constexpr int64_t kRangeBegins[] = {0, 64, 192, 6400, (int64_t{1} << 34) - 64, (int64_t{1} << 35) - 192};
constexpr uint64_t kKey = 0x123456789abcdef0;

// Element e of a group of 16 counters is word w of counter l.
uint32_t word_of(int64_t e, int64_t elements_of_group, int64_t word) {
  const int64_t group = e / elements_of_group, counter = group * 16 + e % 16;
  return Philox::block(kKey, static_cast<uint64_t>(counter), 0)[static_cast<size_t>(word)];
}

float uniform_float_of(int64_t e) { return static_cast<float>(word_of(e, 64, e % 64 / 16) >> 8) * 0x1p-24f; }

double uniform_double_of(int64_t e) {
  const int64_t pair = e % 32 / 16;
  const uint64_t high = word_of(e, 32, 2 * pair) >> 5, low = word_of(e, 32, 2 * pair + 1) >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

// By Box and Muller, of uniforms that stand 16 apart.
template <class Uniform>
double normal_of(int64_t e, const Uniform& uniform) {
  const int64_t first = e - e % 32 + e % 16;
  const double radius = std::sqrt(-2 * std::log(1 - static_cast<double>(uniform(first))));
  const double angle = 2 * std::numbers::pi * (static_cast<double>(uniform(first + 16)) - 0.5);
  return radius * (e % 32 < 16 ? std::cos(angle) : std::sin(angle));
}

// Calls check(first, n) for many ranges of elements.
template <class Check>
void for_ranges(const Check& check) {
  test::on_every_target([&] {
    for (const int64_t first : kRangeBegins)
      for (const int64_t n : kRangeLengths) check(first, n);
  });
}

TEST(PhiloxFill, UniformsAreThoseOfTheirCounters) {
  for_ranges([](int64_t first, int64_t n) {
    std::vector<float> floats(static_cast<size_t>(n));
    philox_uniform(kKey, first, n, -1.0f, 2.0f, floats.data());
    std::vector<double> doubles(static_cast<size_t>(n));
    philox_uniform(kKey, first, n, -1.0, 2.0, doubles.data());
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(floats[static_cast<size_t>(i)], -1 + 2 * uniform_float_of(first + i)) << first << " " << i;
      ASSERT_EQ(doubles[static_cast<size_t>(i)], -1 + 2 * uniform_double_of(first + i)) << first << " " << i;
    }
  });
}

TEST(PhiloxFill, NormalsAreThoseOfTheirCounters) {
  for_ranges([](int64_t first, int64_t n) {
    std::vector<float> floats(static_cast<size_t>(n));
    philox_normal(kKey, first, n, 1.0f, 3.0f, floats.data());
    std::vector<double> doubles(static_cast<size_t>(n));
    philox_normal(kKey, first, n, 1.0, 3.0, doubles.data());
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_NEAR(floats[static_cast<size_t>(i)], 1 + 3 * normal_of(first + i, uniform_float_of), 1e-5) << first;
      ASSERT_NEAR(doubles[static_cast<size_t>(i)], 1 + 3 * normal_of(first + i, uniform_double_of), 1e-13) << first;
    }
  });
}

TEST(PhiloxFill, FlagsAreOfUniformsBelowTheBound) {
  for (const float bound : {-1.0f, 0.0f, 0x1p-24f, 0x1.8p-24f, 0.3f, 0.5f, 0x1.fffffcp-1f, 0x1.fffffep-1f, 1.0f, 2.0f})
    for_ranges([bound](int64_t first, int64_t n) {
      std::vector<uint8_t> flags(static_cast<size_t>(n));
      philox_below(kKey, first, n, bound, flags.data());
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(flags[static_cast<size_t>(i)], uniform_float_of(first + i) < bound) << first << " " << i;
    });
}

TEST(PhiloxBlocks, AreThoseThatStreamsDrawFrom) {
  test::on_every_target([] {
    for (const uint64_t first : {uint64_t{0}, uint64_t{48}, (uint64_t{1} << 32) / 48 * 48, uint64_t{48} << 40}) {
      constexpr size_t kStride = 4 * kPhiloxBlocks;
      uint32_t words[2 * kStride];
      philox_blocks(kKey, first, PhiloxStream::kFirstBlock, words);
      philox_blocks(kKey, first, PhiloxStream::kFirstBlock + 1, words + kStride);
      for (uint64_t i = 0; i < kPhiloxBlocks; ++i) {
        PhiloxStream expected(kKey, first + i), of_one(kKey, first + i, words + 4 * i, 1, kStride),
            of_two(kKey, first + i, words + 4 * i, 2, kStride);
        for (int k = 0; k < 13; ++k) {
          const uint32_t word = expected();
          ASSERT_EQ(of_one(), word) << first << " " << i << " " << k;
          ASSERT_EQ(of_two(), word) << first << " " << i << " " << k;
        }
      }
    }
  });
}

}  // namespace
}  // namespace headrace
