#include "backend/sim/accesses.h"

#include <gtest/gtest.h>

namespace headrace::sim {
namespace {

const int kX = 0, kY = 0;

// What must come before, by number; 0 stands for nothing.
using Numbers = std::vector<uint64_t>;

class AccessesTest : public ::testing::Test {
 protected:
  Numbers read(const void* resource, uint64_t number) {
    Numbers before;
    accesses.read(resource, work(number), [&](WorkRef other) { before.push_back(other.number); });
    return before;
  }
  Numbers write(const void* resource, uint64_t number) {
    Numbers before;
    accesses.write(resource, work(number), [&](WorkRef other) { before.push_back(other.number); });
    return before;
  }
  Numbers last(const void* resource, bool for_all) const {
    Numbers numbers;
    for (const WorkRef other : accesses.last(resource, for_all)) numbers.push_back(other.number);
    return numbers;
  }
  static WorkRef work(uint64_t number) { return {static_cast<int>(number), number}; }

  Accesses accesses;
};

TEST_F(AccessesTest, ReadersComeAfterTheWriterAndWritersAfterBoth) {
  EXPECT_EQ(read(&kX, 1), (Numbers{0}));
  EXPECT_EQ(write(&kX, 2), (Numbers{0, 1}));
  EXPECT_EQ(read(&kX, 3), (Numbers{2}));
  EXPECT_EQ(read(&kX, 4), (Numbers{2}));
  EXPECT_EQ(write(&kX, 5), (Numbers{2, 3, 4}));
  EXPECT_EQ(write(&kX, 6), (Numbers{5}));
  EXPECT_EQ(read(&kY, 7), (Numbers{0}));
}

TEST_F(AccessesTest, WaitsNeedTheWriterOrAll) {
  EXPECT_TRUE(last(&kX, true).empty());
  write(&kX, 1);
  read(&kX, 2);
  EXPECT_EQ(last(&kX, false), (Numbers{1}));
  EXPECT_EQ(last(&kX, true), (Numbers{1, 2}));
  accesses.forget(&kX);
  EXPECT_TRUE(last(&kX, true).empty());
}

TEST_F(AccessesTest, WhatIsOnlyReadDoesNotGrow) {
  constexpr uint64_t kReads = 10'000, kUnended = 20;
  for (uint64_t number = 1; number <= kReads; ++number) {
    accesses.prune(&kX, [&](WorkRef other) { return other.number + kUnended < number; });
    read(&kX, number);
    ASSERT_LE(last(&kX, true).size(), 2 * (kUnended + 3));
  }
  const Numbers left = last(&kX, true);
  for (uint64_t number = kReads - kUnended; number <= kReads; ++number)
    EXPECT_EQ(std::ranges::count(left, number), 1) << number;
}

}  // namespace
}  // namespace headrace::sim
