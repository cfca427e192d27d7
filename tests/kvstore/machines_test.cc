// How ranks sum between machines (collective/machines.h) is what the planner finds faster.
#include "collective/machines.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "kvstore/planner.h"
#include "requests.h"

namespace headrace::kvstore {
namespace {

constexpr size_t kChunk = size_t{1} << 20;  // of a sum between ranks

int64_t time_between(const std::vector<int>& ranks_by_machine, size_t bytes, const char* strategy) {
  const int most = std::ranges::max(ranks_by_machine);
  CollectiveRequest request =
      request_for(loaded(fmt::format("ethernet:{}x10x{}", ranks_by_machine.size(), most).c_str()), bytes);
  request.devices.clear();
  for (size_t node = 0; node < ranks_by_machine.size(); ++node)
    for (int local = 0; local < ranks_by_machine[node]; ++local)
      request.devices.push_back(request.topology->find_device(fmt::format("node{}/gpu{}", node, local)));
  request.slices = static_cast<int>((bytes + kChunk - 1) / kChunk);
  return simulate(make_plan(strategy, request)).total_ps;
}

bool sums_by_machines(const std::vector<int>& ranks_by_machine) {
  std::vector<int> of_ranks;
  for (size_t node = 0; node < ranks_by_machine.size(); ++node)
    of_ranks.insert(of_ranks.end(), static_cast<size_t>(ranks_by_machine[node]), static_cast<int>(node));
  return collective::Machines(of_ranks, 0).is_hierarchical();
}

TEST(Machines, RanksSumAsThePlannerFindsFaster) {
  const std::vector<std::vector<int>> placements = {{4},          {1, 1}, {1, 1, 1, 1}, {2, 2},    {4, 4},
                                                    {2, 2, 2},    {3, 1}, {2, 1},       {4, 2},    {5, 1, 1},
                                                    {2, 1, 1, 1}, {8, 8}, {4, 4, 4},    {3, 2, 4}, {2, 2, 2, 2}};
  for (const std::vector<int>& placement : placements)
    for (const size_t bytes : {size_t{64} << 10, size_t{1} << 20, size_t{8} << 20}) {
      const int64_t flat = time_between(placement, bytes, "sharded"),
                    nested = time_between(placement, bytes, "hierarchical");
      EXPECT_EQ(sums_by_machines(placement), nested < flat)
          << bytes << " bytes on " << testing::PrintToString(placement) << ": " << flat << ", " << nested;
    }
}

}  // namespace
}  // namespace headrace::kvstore
