#include "device/flows.h"

#include <gtest/gtest.h>

#include "topologies.h"

namespace headrace {
namespace {

constexpr int64_t kMicrosecond = 1'000'000;  // ps

const std::vector<Resource> kResources{{"wide", 10e9}, {"narrow", 4e9}, {"other", 10e9}};
const std::vector<int> kWide{0}, kWideAndNarrow{0, 1}, kWideAndOther{0, 2}, kNarrow{1};

TEST(Flows, NothingFlowsAndNothingEnds) {
  Flows flows(kResources);
  EXPECT_EQ(flows.next_end_ps(), kNever);
  flows.advance(5);
  EXPECT_TRUE(flows.take_ended().empty());
  flows.share();
  EXPECT_EQ(flows.next_end_ps(), kNever);
  EXPECT_EQ(flows.loads()[0].busy_ps, 0);
}

TEST(Flows, WhatOneCannotUseGoesToTheOthers) {
  Flows flows(kResources);
  flows.advance(kMicrosecond);
  flows.start(7, kWideAndNarrow, 12000);  // 4 GB/s
  flows.start(3, kWideAndOther, 12000);   // 6 GB/s
  flows.share();
  EXPECT_EQ(flows.next_end_ps(), 3 * kMicrosecond);
  flows.advance(3 * kMicrosecond);
  const std::span<const int> ended = flows.take_ended();
  EXPECT_EQ(std::vector<int>(ended.begin(), ended.end()), (std::vector<int>{3}));
  flows.share();
  EXPECT_EQ(flows.next_end_ps(), 4 * kMicrosecond);
  flows.advance(4 * kMicrosecond);
  EXPECT_EQ(flows.take_ended().size(), 1u);
  flows.share();
  EXPECT_EQ(flows.next_end_ps(), kNever);
  EXPECT_EQ(flows.loads()[0].busy_ps, 3 * kMicrosecond);
  EXPECT_EQ(flows.loads()[2].busy_ps, 2 * kMicrosecond);
  EXPECT_EQ(flows.loads()[0].bytes, 24000u);
}

TEST(Flows, TheShorterLeavesItsShareToTheLonger) {
  Flows flows(kResources);
  flows.start(1, kWide, 10000);
  flows.start(0, kWide, 20000);
  flows.share();
  flows.advance(flows.next_end_ps());  // 2 us at 5 GB/s each
  flows.take_ended();
  flows.share();
  EXPECT_EQ(flows.next_end_ps(), 3 * kMicrosecond);
}

TEST(Flows, ThoseThatEndTogetherComeInOrder) {
  Flows flows(kResources);
  for (int key : {5, 1, 3}) flows.start(key, kNarrow, 4000);
  flows.share();
  flows.advance(flows.next_end_ps());
  const std::span<const int> ended = flows.take_ended();
  EXPECT_EQ(std::vector<int>(ended.begin(), ended.end()), (std::vector<int>{1, 3, 5}));
  EXPECT_TRUE(flows.take_ended().empty());
}

TEST(Flows, NoBytesTakeNoTime) {
  Flows flows(kResources);
  flows.advance(9);
  flows.start(0, kNarrow, 0);
  flows.share();
  EXPECT_EQ(flows.next_end_ps(), 9);
}

TEST(Flows, TimesBeyondAHundredDays) {
  Flows flows(kResources);
  expect_value_error([&] { flows.advance(int64_t{8'640'000} * 1'000'000'000'000); }, "over a hundred days");
  Flows others(kResources);
  others.start(0, kNarrow, uint64_t{1} << 60);
  expect_value_error([&] { others.share(); }, "over a hundred days");
}

}  // namespace
}  // namespace headrace
