#include "hardware/inversions.h"

#include <gtest/gtest.h>

#include <map>

namespace headrace::hardware {
namespace {

TEST(Inversions, AnOrderedCurveIsLeftAlone) {
  std::vector<LatencyPoint> curve{{64, 1e-9}, {128, 1.02e-9}, {256, 1e-9}, {512, 4e-9}};
  EXPECT_EQ(repeat_inversions(curve, [](size_t) -> double { throw "measured"; }), 0);
}

TEST(Inversions, WhatNoiseHadMadeSlowIsMeasuredAgain) {
  std::vector<LatencyPoint> curve{{64, 1e-9}, {128, 9e-9}, {256, 2e-9}, {512, 8e-9}, {1024, 4e-9}};
  const std::map<size_t, double> truth{{128, 1e-9}, {512, 3e-9}};
  EXPECT_EQ(repeat_inversions(curve, [&](size_t bytes) { return truth.at(bytes); }), 2);
  EXPECT_EQ(curve[1].seconds, 1e-9);
  EXPECT_EQ(curve[3].seconds, 3e-9);
}

TEST(Inversions, AnInversionThatStaysEnds) {
  std::vector<LatencyPoint> curve{{64, 5e-9}, {128, 1e-9}};
  int calls = 0;
  EXPECT_EQ(repeat_inversions(curve, [&](size_t) { return ++calls, 6e-9; }), 1);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(curve[0].seconds, 5e-9);
}

}  // namespace
}  // namespace headrace::hardware
