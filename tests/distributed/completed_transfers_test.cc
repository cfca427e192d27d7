// Transfers of a lane that end in any order.
#include "distributed/completed_transfers.h"

#include <gtest/gtest.h>

namespace headrace::distributed {
namespace {

TEST(CompletedTransfers, AreBelowANumberWhenAllBeforeItAre) {
  CompletedTransfers completed;
  EXPECT_EQ(completed.below(), 0U);
  completed.note(2);
  completed.note(1);
  EXPECT_EQ(completed.below(), 0U);
  completed.note(0);
  EXPECT_EQ(completed.below(), 3U);
  completed.note(4);
  EXPECT_EQ(completed.below(), 3U);
  completed.note(3);
  EXPECT_EQ(completed.below(), 5U);
}

}  // namespace
}  // namespace headrace::distributed
