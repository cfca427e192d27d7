#include "ops/random/mersenne_twister.h"

#include <gtest/gtest.h>

#include <random>

#include "every_target.h"

namespace headrace {
namespace {

// Lengths around the words of a state and those that its recurrence reaches back to.
constexpr int64_t kWordCounts[] = {0, 1, 2, 3, 5, 16, 226, 227, 228, 396, 397, 623, 624, 625, 1248, 10'000};

TEST(MersenneTwister, CallsAreThoseOfTheStandardLibrary) {
  for (const uint32_t seed : {0u, 1u, 5489u, 0xffffffffu}) {
    test::on_every_target([&] {
      MersenneTwister words(seed);
      std::mt19937 expected(seed);
      for (int i = 0; i < 5000; ++i) ASSERT_EQ(words(), expected()) << i;
    });
  }
}

TEST(MersenneTwister, PiecesOfAnyLengthGoOnWhereTheLastOneEnded) {
  test::on_every_target([] {
    std::mt19937 order(3);
    MersenneTwister words(7);
    std::mt19937 expected(7);
    for (int round = 0; round < 200; ++round) {
      std::vector<uint32_t> piece(static_cast<size_t>(kWordCounts[order() % std::size(kWordCounts)]));
      words.fill(piece.data(), static_cast<int64_t>(piece.size()));
      for (const uint32_t word : piece) ASSERT_EQ(word, expected()) << round;
      const auto left_out = static_cast<int64_t>(order() % 2000);
      words.discard(left_out);
      expected.discard(static_cast<unsigned long long>(left_out));
      ASSERT_EQ(words(), expected()) << round;
    }
  });
}

TEST(MersenneTwister, ACopyGoesOnByItself) {
  MersenneTwister words(7);
  words.discard(1000);
  MersenneTwister copy = words;
  std::vector<uint32_t> some(3000), same(3000);
  words.fill(some.data(), 3000);
  copy.fill(same.data(), 3000);
  EXPECT_EQ(some, same);
}

}  // namespace
}  // namespace headrace
