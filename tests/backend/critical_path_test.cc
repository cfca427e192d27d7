#include "backend/sim/critical_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace headrace::sim {
namespace {

using Node = CriticalPath::Node;

TEST(CriticalPath, GoesBackFromOneNodeToTheBeginning) {
  CriticalPath path;
  const Node a = path.add({"a", 0, 0, 10}, CriticalPath::kBeginning);
  const Node b = path.add({"b", 1, 10, 15}, a);
  const Node c = path.add({"c", 2, 10, 30}, a);
  const Node d = path.add({"a", 0, 30, 31}, c);
  std::string names;
  for (const PathStep& step : path.to(d).newest) names += step.name;
  EXPECT_EQ(names, "aca");
  EXPECT_EQ((path.to(d).totals.at({"a", 0}).count), 2);
  EXPECT_EQ((path.to(d).totals.at({"a", 0}).time_ps), 11);
  EXPECT_EQ(path.to(b).newest.size(), 2u);
  EXPECT_TRUE(path.to(CriticalPath::kBeginning).newest.empty());
}

TEST(CriticalPath, BranchesThatNothingCanGoBackToAreForgotten) {
  CriticalPath path;
  const Node a = path.add({"a", 0, 0, 10}, CriticalPath::kBeginning);
  const Node b = path.add({"b", 1, 10, 15}, a);
  const Node c = path.add({"c", 1, 15, 20}, b);
  const Node d = path.add({"d", 2, 10, 20}, a);
  EXPECT_EQ(path.size(), 5u);
  path.release(b);  // c still needs it
  EXPECT_EQ(path.size(), 5u);
  path.release(c);
  EXPECT_EQ(path.size(), 3u);
  path.release(a);
  path.release(CriticalPath::kBeginning);  // now a is common to all that is left, and so is d
  EXPECT_EQ(path.size(), 1u);
  EXPECT_EQ(path.to(d).newest.size(), 2u);
  EXPECT_EQ((path.to(d).totals.at({"a", 0}).time_ps), 10);
}

// Two chains that meet now and then, as those of two streams do; the first holds the beginning only until it moves on.
TEST(CriticalPath, LongChainsTakeNoMemoryAndLoseNoTime) {
  constexpr int kRounds = 5000;
  CriticalPath path;
  Node first = CriticalPath::kBeginning, second = CriticalPath::kBeginning;
  path.hold(second);
  const auto go_on = [&](Node& chain, const char* name, int round, Node cause) {
    const Node next = path.add({name, 0, 3 * round, 3 * round + 3}, cause);
    path.release(chain);
    chain = next;
  };
  size_t most = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Node met = round % 10 == 9 ? first : second;
    go_on(second, "second", round, met);
    go_on(first, "first", round, first);
    most = std::max(most, path.size());
  }
  EXPECT_LT(most, 50u);
  const PathSummary summary = path.to(first);
  EXPECT_EQ((summary.totals.at({"first", 0}).count), kRounds);
  EXPECT_EQ((summary.totals.at({"first", 0}).time_ps), 3 * kRounds);
  EXPECT_EQ(summary.newest.size(), CriticalPath::kMostSteps);
  EXPECT_EQ(summary.newest.back().end_ps, 3 * kRounds);
  EXPECT_EQ(summary.newest.front().begin_ps, 3 * (kRounds - static_cast<int>(CriticalPath::kMostSteps)));
}

}  // namespace
}  // namespace headrace::sim
