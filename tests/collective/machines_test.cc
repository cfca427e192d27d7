#include "collective/machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::collective {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Machines, OneMachineOrOneRankOnEachIsNoHierarchy) {
  for (const std::vector<int>& placement : {std::vector<int>{0}, {7, 7, 7}, {3, 1, 2}}) {
    const Machines machines(placement, 0);
    EXPECT_FALSE(machines.is_hierarchical());
    EXPECT_THAT(machines.members(Lane::kMachineScatter), IsEmpty());
    EXPECT_THAT(machines.members(Lane::kAcrossGather), IsEmpty());
    EXPECT_EQ(machines.members(Lane::kScatter).size(), placement.size());
  }
}

TEST(Machines, AreInTheOrderOfTheirFirstRanks) {
  const Machines machines({9, 4, 9, 4, 9}, 4);
  EXPECT_THAT(machines.ranks(), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3)));
  EXPECT_EQ(machines.own(), 0U);
  EXPECT_EQ(machines.local(), 2U);
  EXPECT_EQ(machines.local_size(), 3U);
  EXPECT_TRUE(machines.is_hierarchical());
}

// The smallest machine says how many slices there are.
TEST(Machines, RanksWithTheSameSliceMeetAcrossMachines) {
  const std::vector<int> placement = {0, 0, 0, 1, 1};
  EXPECT_THAT(Machines(placement, 1).members(Lane::kAcrossScatter), ElementsAre(1, 4));
  EXPECT_EQ(Machines(placement, 1).place(Lane::kAcrossScatter), 0U);
  EXPECT_EQ(Machines(placement, 4).place(Lane::kAcrossGather), 1U);
  EXPECT_THAT(Machines(placement, 4).members(Lane::kMachineGather), ElementsAre(3, 4));
  EXPECT_EQ(Machines(placement, 4).place(Lane::kMachineGather), 1U);
  const Machines without(placement, 2);
  EXPECT_EQ(without.slices(), 2U);
  EXPECT_FALSE(without.has_slice());
  EXPECT_THAT(without.members(Lane::kAcrossScatter), IsEmpty());
  EXPECT_THAT(without.members(Lane::kMachineScatter), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace headrace::collective
