// The figures of "Dive into Deep Learning", 12.7: 160 MB of gradients, links of 16 and 18 GB/s.

#include "kvstore/planner.h"

#include <gtest/gtest.h>

#include <set>

#include "requests.h"

namespace headrace::kvstore {
namespace {

constexpr size_t kGradients = 160'000'000;
constexpr int64_t kMillisecond = 1'000'000'000;  // ps
constexpr double kMs = kMillisecond;
constexpr double kTenGigabits = 1.25e9 * 1448 / 1538;  // of Ethernet: bytes/s in frames that carry 1448 of 1538

int64_t time_of(const CollectiveRequest& request, const char* strategy) {
  return simulate(make_plan(strategy, request)).total_ps;
}

TEST(Book, FourGpusOnAPcieSwitch) {
  const CollectiveRequest request = request_for(without_latency(*loaded("pcie4")), kGradients);
  EXPECT_EQ(time_of(request, "host"), 80 * kMillisecond);
  EXPECT_EQ(time_of(request, "central"), 60 * kMillisecond);
  EXPECT_EQ(time_of(request, "sharded"), 15 * kMillisecond);
  EXPECT_EQ(time_of(request, "ring"), 15 * kMillisecond);
}

// The preset adds 2 us for each copy that waits for another: one on the way in and one on the way out.
TEST(Book, LatenciesOfThePresetAreMicroseconds) {
  const CollectiveRequest request = request_for(loaded("pcie4"), kGradients);
  EXPECT_EQ(time_of(request, "host"), 80 * kMillisecond + 4'000'000);
  EXPECT_EQ(time_of(request, "sharded"), 15 * kMillisecond + 4'000'000);
  EXPECT_EQ(time_of(request, "ring"), 15 * kMillisecond + 6 * 2'000'000);
}

// Each GPU sends 2 (n - 1) / n of the buffer over 36 + 18 GB/s. The book rounds (n - 1) / n to 1: 5.9 ms.
TEST(Book, TheRingsOfAP3) {
  const CollectiveRequest request = request_for(without_latency(*loaded("p3")), kGradients);
  const double rounded = 2 * 160e6 / (3 * 18e9) * 1e3 * kMs;
  EXPECT_NEAR(rounded, 5.93 * kMs, 0.01 * kMs);
  const auto rings = static_cast<double>(time_of(request, "rings"));
  EXPECT_NEAR(rings, rounded * 7 / 8, 1e-4 * rounded);
  EXPECT_NEAR(static_cast<double>(time_of(request, "ring")), 2 * 7. / 8 * 160e6 / 36e9 * 1e3 * kMs, 1e-4 * rounded);
  EXPECT_NEAR(static_cast<double>(time_of(request, "bidirectional_rings")), rings / 2, 1e-4 * rounded);
}

// m workers and n servers on machines of their own: each server takes m / n buffers through its link and sends as many.
TEST(Book, AParameterServerTakesWorkersOverServers) {
  const TopologyPtr topology = without_latency(*loaded("ethernet:12x10"));
  const auto time = [&](int workers, int servers) {
    CollectiveRequest request = request_for(topology, 120'000'000);
    request.devices.clear();
    for (int i = 0; i < workers + servers; ++i) {
      const std::string node = "node" + std::to_string(i);
      if (i < workers)
        request.devices.push_back(topology->find_device(node + "/gpu0"));
      else
        request.servers.push_back(topology->find_device(node + "/cpu0"));
    }
    return static_cast<double>(time_of(request, "parameter_server"));
  };
  for (int workers : {2, 4, 8})
    for (int servers : {1, 2, 4}) {
      const double each_way = std::max(1.0, static_cast<double>(workers) / servers) * 120e6 / kTenGigabits;
      EXPECT_NEAR(time(workers, servers), 2 * each_way * 1e12, 1e3) << workers << " workers, " << servers << " servers";
    }
}

// Four machines of eight GPUs on PCIe: each GPU sums an eighth of its machine's buffers, and what passes the network is
// one buffer for each machine, there and back, however many GPUs it has.
TEST(Hierarchy, EachMachineSendsOneBuffer) {
  const CollectiveRequest request = request_for(without_latency(*loaded("ethernet:4x10x8")), kGradients);
  const double inside = 2 * 7. / 8 * 160e6 / 16e9, between = 2 * 3. / 4 * 160e6 / kTenGigabits;
  EXPECT_NEAR(static_cast<double>(time_of(request, "hierarchical")), (inside + between) * 1e12, 1e-6 * 1e12);
  EXPECT_LE(static_cast<double>(time_of(request, "hierarchical_ring")), (inside + between) * 1e12);
  EXPECT_GT(static_cast<double>(time_of(request, "sharded")), 7 * between * 1e12);
  const std::string_view best = fastest(compare(request))->strategy->name;
  EXPECT_TRUE(best.starts_with("hierarchical")) << best;
}

TEST(Hierarchy, OfOneLevelIsSharded) {
  for (const char* name : {"pcie4", "p3", "ethernet:8x10"}) {
    const CollectiveRequest request = request_for(loaded(name), kGradients);
    EXPECT_EQ(time_of(request, "hierarchical"), time_of(request, "sharded")) << name;
  }
}

TEST(Planner, RowsAreTheStrategiesAndTheBestIsTheLeast) {
  for (const char* name : {"pcie4", "p3", "ethernet:4x100"}) {
    const std::vector<Comparison> rows = compare(request_for(loaded(name), kGradients));
    ASSERT_EQ(rows.size(), strategies().size());
    const Comparison* best = fastest(rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].strategy, &strategies()[i]);
      EXPECT_TRUE(rows[i].possible());
      EXPECT_LE(rows[i].sliced.total_ps, rows[i].whole.total_ps);
      EXPECT_GE(rows[i].sliced.total_ps, best->sliced.total_ps);
    }
  }
}

TEST(Planner, ChoosesByTopologyAndSize) {
  const auto choice = [](const char* topology, size_t bytes) {
    return fastest(compare(request_for(loaded(topology), bytes)))->strategy->name;
  };
  EXPECT_EQ(choice("pcie4", kGradients), "sharded");
  EXPECT_EQ(choice("p3", kGradients), "bidirectional_rings");
  EXPECT_EQ(choice("ethernet:8x10", kGradients), "sharded");
  // A few bytes: what counts is how many copies wait for each other.
  const std::set<std::string_view> short_ways{"host", "central", "sharded", "tree", "parameter_server"};
  EXPECT_TRUE(short_ways.contains(choice("pcie4", 4)));
  EXPECT_TRUE(short_ways.contains(choice("p3", 4)));
}

TEST(Planner, TheBestPlanTakesWhatItsRowSays) {
  CollectiveRequest request = request_for(loaded("pcie4"), kGradients);
  const std::vector<Comparison> rows = compare(request);
  const CommunicationPlan plan = best_plan(request);
  EXPECT_EQ(plan.strategy(), fastest(rows)->strategy->name);
  EXPECT_EQ(simulate(plan).total_ps, fastest(rows)->sliced.total_ps);
}

TEST(Planner, SlicesThatWereAskedForAreUsed) {
  CollectiveRequest request = request_for(without_latency(*loaded("pcie4")), kGradients);
  request.slices = 4;
  for (const Comparison& row : compare(request)) {
    EXPECT_EQ(row.sliced.slices, 4);
    EXPECT_EQ(row.whole.slices, 1);
    if (row.strategy->name == "central") {
      EXPECT_EQ(row.sliced.total_ps, 75 * kMillisecond / 2);
    }
  }
}

TEST(Planner, NamesTheBottleneck) {
  const TopologyPtr topology = without_latency(*loaded("pcie4"));
  const Comparison row = predict(find_strategy("host"), request_for(topology, kGradients));
  const std::string& name = topology->resources()[row.whole.busiest].name;
  EXPECT_TRUE(name == "cpu0>switch" || name == "switch>cpu0") << name;
  EXPECT_EQ(row.whole.busiest_share, 0.5);
  EXPECT_EQ(row.whole.scratch_bytes, 3 * kGradients);
}

TEST(Planner, WhatIsNotPossibleSaysWhy) {
  const TopologySpec no_cpu{"t", {{"gpu0"}, {"gpu1"}}, {}, {{"gpu0", "gpu1", 1e9}}};
  const std::vector<Comparison> rows = compare(request_for(std::make_shared<Topology>(no_cpu), 4000));
  for (const Comparison& row : rows)
    EXPECT_EQ(row.possible(), row.strategy->name != "host" && row.strategy->name != "parameter_server");
  EXPECT_NE(fastest(rows), nullptr);
}

TEST(Planner, NothingToSumTakesNoTime) {
  for (const Comparison& row : compare(request_for(loaded("p3"), 0))) {
    EXPECT_EQ(row.whole.total_ps, 0);
    EXPECT_EQ(row.whole.steps, 0u);
    EXPECT_EQ(row.whole.busiest, -1);
  }
}

}  // namespace
}  // namespace headrace::kvstore
