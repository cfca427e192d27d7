#include "hardware/chase.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace headrace::hardware {
namespace {

// The lines in the order in which they are visited, until one comes again.
std::vector<std::ptrdiff_t> visited(std::span<std::byte> memory, void** first) {
  std::vector<std::ptrdiff_t> order;
  std::set<void**> seen;
  for (void** line = first; seen.insert(line).second; line = follow(line, 1))
    order.push_back(reinterpret_cast<std::byte*>(line) - memory.data());
  return order;
}

TEST(Chase, IsOneCycleThroughAllLines) {
  for (size_t lines : {1, 2, 3, 7, 64, 1000}) {
    Region region(lines * kLineBytes + 8);  // what is no whole line is left out
    void** first = link_cycle(region.bytes(), 5);
    const auto order = visited(region.bytes(), first);
    ASSERT_EQ(order.size(), lines);
    for (std::ptrdiff_t offset : order) {
      EXPECT_EQ(offset % static_cast<std::ptrdiff_t>(kLineBytes), 0);
      EXPECT_LT(offset, static_cast<std::ptrdiff_t>(lines * kLineBytes));
    }
    EXPECT_EQ(follow(first, static_cast<int64_t>(lines)), first);
  }
}

TEST(Chase, FollowCountsSteps) {
  Region region(100 * kLineBytes);
  void** first = link_cycle(region.bytes(), 1);
  void** line = first;
  for (int64_t steps = 0; steps < 30; ++steps, line = static_cast<void**>(*line)) EXPECT_EQ(follow(first, steps), line);
}

TEST(Chase, TheSeedDecides) {
  constexpr size_t kBytes = 256 * kLineBytes;
  Region a(kBytes), b(kBytes), c(kBytes);
  const auto order = visited(a.bytes(), link_cycle(a.bytes(), 1));
  EXPECT_EQ(order, visited(b.bytes(), link_cycle(b.bytes(), 1)));
  EXPECT_NE(order, visited(c.bytes(), link_cycle(c.bytes(), 2)));
  size_t steps_to_neighbour = 0;
  for (size_t i = 1; i < order.size(); ++i)
    steps_to_neighbour += order[i] - order[i - 1] == static_cast<std::ptrdiff_t>(kLineBytes);
  EXPECT_LT(steps_to_neighbour, order.size() / 10);
}

}  // namespace
}  // namespace headrace::hardware
