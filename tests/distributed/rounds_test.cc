#include "distributed/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace headrace::distributed {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(Rounds, AreOverWhenEveryWorkerHasPushed) {
  Rounds<int> rounds(3);
  EXPECT_TRUE(rounds.add(2, 0, 12));
  EXPECT_TRUE(rounds.add(0, 0, 10));
  EXPECT_FALSE(rounds.close_next().has_value());
  EXPECT_THAT(rounds.missing_in(0), Optional(1u));
  EXPECT_TRUE(rounds.add(1, 0, 11));
  EXPECT_THAT(rounds.close_next(), Optional(ElementsAre(10, 11, 12)));
  EXPECT_EQ(rounds.closed(), 1u);
}

TEST(Rounds, AWorkerThatPushesTwiceIsAheadOfOthers) {
  Rounds<int> rounds(2);
  EXPECT_TRUE(rounds.add(0, 0, 1));
  EXPECT_TRUE(rounds.add(0, 1, 2));
  EXPECT_FALSE(rounds.close_next().has_value());
  EXPECT_TRUE(rounds.add(1, 0, 3));
  EXPECT_THAT(rounds.close_next(), Optional(ElementsAre(1, 3)));
  EXPECT_FALSE(rounds.close_next().has_value());
  EXPECT_TRUE(rounds.has_pushed(0, 1));
  EXPECT_FALSE(rounds.has_pushed(1, 1));
}

TEST(Rounds, APushCountsOnce) {
  Rounds<int> rounds(2);
  EXPECT_TRUE(rounds.add(0, 0, 1));
  EXPECT_FALSE(rounds.add(0, 0, 5));
  EXPECT_TRUE(rounds.add(1, 0, 2));
  EXPECT_THAT(rounds.close_next(), Optional(ElementsAre(1, 2)));
  EXPECT_FALSE(rounds.add(1, 0, 7));  // of a round that is over
}

TEST(Rounds, DoNotDependOnTheOrderOfArrival) {
  constexpr size_t kWorkers = 4, kRounds = 5;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::vector<std::pair<size_t, uint64_t>> pushes;
    for (size_t rank = 0; rank < kWorkers; ++rank)
      for (uint64_t round = 0; round < kRounds; ++round) pushes.emplace_back(rank, round);
    std::shuffle(pushes.begin(), pushes.end(), std::mt19937(seed));
    Rounds<size_t> rounds(kWorkers);
    uint64_t closed = 0;
    for (const auto& [rank, round] : pushes) {
      EXPECT_TRUE(rounds.add(rank, round, 10 * round + rank));
      while (const auto all = rounds.close_next()) {
        EXPECT_THAT(*all, ElementsAre(10 * closed, 10 * closed + 1, 10 * closed + 2, 10 * closed + 3));
        ++closed;
      }
    }
    EXPECT_EQ(closed, kRounds);
  }
}

}  // namespace
}  // namespace headrace::distributed
