#include "graph/memory.h"

#include <gtest/gtest.h>

#include <random>

namespace headrace {
namespace {

TEST(Memory, ValuesThatAreNeverAliveAtOnceShare) {
  std::vector<Lifetime> values{{1000, 0, 1}, {1000, 2, 3}, {500, 3, 4}};
  EXPECT_EQ(assign_offsets(values), 1024 + 512);
  EXPECT_EQ(values[0].offset, values[1].offset);
  EXPECT_EQ(values[2].offset, 1024);
}

TEST(Memory, TheSmallestGapThatFitsIsTaken) {
  // A gap of 640 bytes and one of 256 lie between values that live throughout.
  std::vector<Lifetime> values{{2048, 0, 9}, {640, 0, 4}, {1024, 0, 9}, {256, 0, 4}, {128, 0, 9}, {250, 5, 9}};
  const int64_t total = assign_offsets(values);
  EXPECT_LE(total, 2048 + 640 + 1024 + 256 + 128);
  EXPECT_EQ(values[5].offset % kSlotAlignment, 0);
}

TEST(Memory, ValuesThatLieSomewhereStayThere) {
  // The place of the first is free from step 2 on; that of the second never.
  std::vector<Lifetime> values{{1000, -1, 1, 0}, {1000, -1, 9, 1024}, {900, 2, 4}, {900, 1, 3}};
  EXPECT_EQ(assign_offsets(values), 2048 + 960);
  EXPECT_EQ(values[0].offset, 0);
  EXPECT_EQ(values[1].offset, 1024);
  EXPECT_EQ(values[2].offset, 0);
  EXPECT_EQ(values[3].offset, 2048);
}

TEST(Memory, NothingNeedsNothing) {
  std::vector<Lifetime> none, empty{{0, 0, 0}, {0, 0, 3}};
  EXPECT_EQ(assign_offsets(none), 0);
  EXPECT_EQ(assign_offsets(empty), 0);
}

TEST(Memory, ValuesAliveAtOnceNeverOverlap) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 400; ++round) {
    std::vector<Lifetime> values(1 + random() % 60);
    const int steps = 1 + static_cast<int>(random() % 40);
    for (Lifetime& value : values) {
      value.bytes = static_cast<int64_t>(random() % (random() % 2 ? 100 : 10000));
      value.first = static_cast<int>(random() % static_cast<unsigned>(steps));
      value.last = value.first + static_cast<int>(random() % static_cast<unsigned>(steps - value.first));
    }
    const int64_t total = assign_offsets(values);
    int64_t sum = 0, peak = 0;
    for (const Lifetime& a : values) {
      const auto slot = (a.bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
      sum += slot;
      int64_t alive = 0;
      for (const Lifetime& b : values) {
        if (b.first <= a.first && a.first <= b.last)
          alive += (b.bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
        if (&a == &b || a.last < b.first || b.last < a.first || a.bytes == 0 || b.bytes == 0) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
      }
      peak = std::max(peak, alive);
      EXPECT_GE(a.offset, 0);
      EXPECT_EQ(a.offset % kSlotAlignment, 0);
      EXPECT_LE(a.offset + a.bytes, total);
    }
    EXPECT_GE(total, peak);
    EXPECT_LE(total, sum);
  }
}

}  // namespace
}  // namespace headrace
