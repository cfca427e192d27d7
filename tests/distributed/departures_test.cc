#include "distributed/departures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace headrace::distributed {
namespace {

TEST(Departures, APlaceIsEmptyUntilSomebodyComes) {
  Departures departures;
  departures.come(0, 1);
  departures.come(1, 2);
  departures.depart(0, 1, true);
  departures.depart(1, 2, false);  // by itself
  EXPECT_EQ(departures.lost(), 1U);
  departures.come(1, 3);
  EXPECT_EQ(departures.lost(), 1U);
  departures.come(0, 5);
  EXPECT_EQ(departures.lost(), 0U);
  EXPECT_FALSE(departures.is_replaced(0, 1, 4));
  EXPECT_TRUE(departures.is_replaced(0, 1, 5));
  EXPECT_FALSE(departures.is_replaced(0, 5, 9));
  EXPECT_FALSE(departures.is_replaced(7, 1, 9));
}

// As counting all of them anew each time.
TEST(Departures, AThousandWorkersThatAllChange) {
  struct Life {
    uint32_t rank;
    uint64_t incarnation;
    bool is_gone = false, is_lost = false;
  };
  constexpr uint32_t kWorkers = 1000;
  std::vector<Life> lives;
  std::vector<size_t> present;  // by rank: the life that is there
  Departures departures;
  const auto come = [&](uint32_t rank) {
    lives.push_back({rank, lives.size() + 1});
    departures.come(rank, lives.back().incarnation);
    return lives.size() - 1;
  };
  for (uint32_t rank = 0; rank < kWorkers; ++rank) present.push_back(come(rank));
  std::mt19937 random(3);
  const auto count = [&] {
    size_t lost = 0;
    for (const Life& life : lives) {
      const bool is_newest = present[life.rank] == life.incarnation - 1;
      lost += life.is_lost && is_newest ? 1 : 0;
    }
    return lost;
  };
  for (int step = 0; step < 6000; ++step) {
    const auto rank = static_cast<uint32_t>(random() % kWorkers);
    Life& life = lives[present[rank]];
    if (life.is_gone) {
      present[rank] = come(rank);
    } else {
      life.is_gone = true;
      life.is_lost = random() % 3 > 0;
      departures.depart(rank, life.incarnation, life.is_lost);
    }
    if (step % 100 == 0) {
      ASSERT_EQ(departures.lost(), count()) << step;
    }
  }
  for (const Life& life : lives) {
    if (life.incarnation % 20 > 0) continue;
    for (const uint64_t until : {life.incarnation, uint64_t{kWorkers + 50}, uint64_t{lives.size()}}) {
      const bool expected = std::ranges::any_of(lives, [&](const Life& other) {
        return other.rank == life.rank && other.incarnation > life.incarnation && other.incarnation <= until;
      });
      ASSERT_EQ(departures.is_replaced(life.rank, life.incarnation, until), expected) << life.incarnation;
    }
  }
}

}  // namespace
}  // namespace headrace::distributed
