#include "distributed/applied_pushes.h"

#include <gtest/gtest.h>

namespace headrace::distributed {
namespace {

void add(AppliedPushes& applied, size_t rank, uint64_t incarnation, int times) {
  for (int i = 0; i < times; ++i) applied.add(rank, incarnation);
}

TEST(AppliedPushes, EachIncarnationCountsItsOwn) {
  AppliedPushes applied(2);
  add(applied, 1, 10, 3);
  EXPECT_EQ(applied.count(1, 10), 3u);
  EXPECT_EQ(applied.count(1, 11), 0u);
  EXPECT_EQ(applied.count(7, 10), 0u);
  add(applied, 1, 11, 1);
  EXPECT_EQ(applied.count(1, 11), 1u);
  EXPECT_EQ(applied.count(1, 10), 0u);
}

TEST(AppliedPushes, ThoseOfTheBeginningCountFromNothing) {
  AppliedPushes applied(2);
  add(applied, 0, 10, 3);
  EXPECT_FALSE(applied.is_ahead(0, 10, 3, 3));
  EXPECT_TRUE(applied.is_ahead(0, 10, 4, 3));
  EXPECT_FALSE(applied.is_ahead(1, 20, 0, 3));
  add(applied, 1, 20, 1);
  EXPECT_FALSE(applied.is_ahead(0, 10, 4, 3));
  EXPECT_TRUE(applied.is_ahead(0, 10, 5, 3));
}

TEST(AppliedPushes, WhoJoinsBeginsWhereTheSlowestIs) {
  AppliedPushes applied(2);
  add(applied, 0, 10, 9);
  add(applied, 1, 20, 7);
  EXPECT_FALSE(applied.is_ahead(0, 10, 9, 2));
  add(applied, 2, 30, 1);  // as if it had pushed 8 times
  add(applied, 1, 20, 3);
  EXPECT_FALSE(applied.is_ahead(0, 10, 10, 2));
  EXPECT_TRUE(applied.is_ahead(0, 10, 11, 2));
  add(applied, 2, 30, 4);
  add(applied, 0, 10, 1);
  EXPECT_FALSE(applied.is_ahead(2, 30, 5, 2));
  EXPECT_TRUE(applied.is_ahead(2, 30, 6, 2));
}

TEST(AppliedPushes, WhoHasLeftIsNotWaitedForAndAnotherOneBeginsAtTheSlowest) {
  AppliedPushes applied(2);
  add(applied, 0, 10, 6);
  EXPECT_TRUE(applied.is_ahead(0, 10, 6, 2));
  applied.leave(1);
  applied.leave(5);
  EXPECT_FALSE(applied.is_ahead(0, 10, 6, 2));
  add(applied, 1, 21, 1);
  EXPECT_FALSE(applied.is_ahead(0, 10, 9, 2));
  EXPECT_TRUE(applied.is_ahead(0, 10, 10, 2));
}

TEST(AppliedPushes, AnotherProcessGoesOnWithThem) {
  AppliedPushes applied(2), other(2);
  add(applied, 0, 10, 4);
  other.leave(1);
  add(applied, 2, 30, 1);
  add(applied, 0, 10, 2);
  Outcome outcome;
  applied.tell(outcome);
  other.take(outcome);
  EXPECT_EQ(other.count(0, 10), 6u);
  EXPECT_EQ(other.count(2, 30), 1u);
  EXPECT_FALSE(other.is_ahead(2, 30, 3, 2));  // 1 has left there, and was at 0
  add(other, 2, 30, 1);
  EXPECT_EQ(other.count(2, 30), 2u);
}

}  // namespace
}  // namespace headrace::distributed
