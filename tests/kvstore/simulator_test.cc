#include "kvstore/simulator.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "requests.h"

namespace headrace::kvstore {
namespace {

constexpr int64_t kMicrosecond = 1'000'000;  // ps

// Devices gpu0, gpu1, ... on one switch "s", each with a link of its bandwidth in GB/s.
TopologySpec star(std::vector<double> gigabytes) {
  TopologySpec spec{"star", {}, {{"s"}}, {}};
  for (double bandwidth : gigabytes) {
    spec.devices.push_back({"gpu" + std::to_string(spec.devices.size())});
    spec.links.push_back({spec.devices.back().name, "s", bandwidth * 1e9});
  }
  return spec;
}

struct Copy {
  int from, to;
  size_t bytes;
};

// Copies that all begin at once.
CommunicationPlan plan_of(const TopologySpec& spec, const std::vector<Copy>& copies) {
  PlanBuilder builder(std::make_shared<Topology>(spec), "by hand", Collective::kReduce, {0}, 1 << 20);
  for (size_t i = 0; i < copies.size(); ++i)
    builder.copy({copies[i].from}, {copies[i].to, static_cast<int>(i) + 1}, {0, copies[i].bytes}, {},
                 static_cast<int>(i));
  return std::move(builder).finish();
}

int64_t end_of(const CommunicationPlan& plan, size_t step) { return simulate(plan).steps[step].end_ps; }

TEST(Simulator, ACopyTakesLatencyAndBytesThroughTheNarrowestLink) {
  TopologySpec spec = star({1, 4});
  spec.links[0].latency = 1e-6;
  spec.links[1].latency = 2e-6;
  const Simulation simulation = simulate(plan_of(spec, {{0, 1, 1000}}));
  EXPECT_EQ(simulation.total_ps, 4 * kMicrosecond);
  EXPECT_EQ(simulation.steps[0].begin_ps, 3 * kMicrosecond);
  EXPECT_EQ(simulation.steps[0].end_ps, 4 * kMicrosecond);
  EXPECT_EQ(simulation.resources[0].busy_ps, 1 * kMicrosecond);
  EXPECT_EQ(simulation.resources[0].bytes, 1000u);
  EXPECT_EQ(simulation.resources[1].bytes, 0u);  // s>gpu0
}

TEST(Simulator, AnEmptyPlanTakesNoTime) { EXPECT_EQ(simulate(plan_of(star({1, 1}), {})).total_ps, 0); }

TEST(Simulator, CopiesIntoOneDeviceShareItsLink) {
  const CommunicationPlan plan = plan_of(star({8, 8, 8}), {{1, 0, 8000}, {2, 0, 8000}});
  EXPECT_EQ(end_of(plan, 0), 2 * kMicrosecond);
  EXPECT_EQ(end_of(plan, 1), 2 * kMicrosecond);
}

TEST(Simulator, WhatOneCopyCannotUseGoesToTheOthers) {
  // Both leave gpu0 (10 GB/s); gpu1 takes 4, so 6 are left for gpu2.
  const CommunicationPlan plan = plan_of(star({10, 4, 10}), {{0, 1, 12000}, {0, 2, 12000}});
  EXPECT_EQ(end_of(plan, 0), 3 * kMicrosecond);
  EXPECT_EQ(end_of(plan, 1), 2 * kMicrosecond);
}

TEST(Simulator, ACopySpeedsUpWhenAnotherEnds) {
  // 4 GB/s each until the shorter one ends after 2 us; then 8000 bytes are left at 8 GB/s.
  const CommunicationPlan plan = plan_of(star({8, 8}), {{0, 1, 8000}, {0, 1, 16000}});
  EXPECT_EQ(end_of(plan, 0), 2 * kMicrosecond);
  EXPECT_EQ(end_of(plan, 1), 3 * kMicrosecond);
  EXPECT_EQ(simulate(plan).resources[0].busy_ps, 3 * kMicrosecond);
}

TEST(Simulator, DirectionsOfAFullDuplexLinkAreIndependent) {
  TopologySpec spec{"pair", {{"gpu0"}, {"gpu1"}}, {}, {{"gpu0", "gpu1", 1e9}}};
  EXPECT_EQ(simulate(plan_of(spec, {{0, 1, 1000}, {1, 0, 1000}})).total_ps, 1 * kMicrosecond);
  spec.links[0].duplex = Duplex::kShared;
  EXPECT_EQ(simulate(plan_of(spec, {{0, 1, 1000}, {1, 0, 1000}})).total_ps, 2 * kMicrosecond);
  spec.links[0].lanes = 2;
  EXPECT_EQ(simulate(plan_of(spec, {{0, 1, 1000}, {1, 0, 1000}})).total_ps, 1 * kMicrosecond);
}

TEST(Simulator, ALimitedSwitchIsSharedByAllThatPass) {
  TopologySpec spec = star({8, 8, 8, 8});
  const std::vector<Copy> disjoint{{0, 1, 8000}, {2, 3, 8000}};
  EXPECT_EQ(simulate(plan_of(spec, disjoint)).total_ps, 1 * kMicrosecond);
  spec.switches[0].bandwidth = 8e9;
  EXPECT_EQ(simulate(plan_of(spec, disjoint)).total_ps, 2 * kMicrosecond);
}

TEST(Simulator, AddingTakesTimeWhereADeviceSaysSo) {
  TopologySpec spec = star({8, 8});
  const auto total = [&] {
    PlanBuilder builder(std::make_shared<Topology>(spec), "by hand", Collective::kReduce, {0, 1}, 8000);
    for (int slot : {1, 2}) {
      const int arrived = builder.copy({1}, {0, slot}, {0, 4000}, {}, slot);
      builder.reduce({0, slot}, {0}, {0, 4000}, {arrived});
    }
    return simulate(std::move(builder).finish()).total_ps;
  };
  EXPECT_EQ(total(), 1 * kMicrosecond);
  spec.devices[0].reduce_bandwidth = 2e9;  // 2 x 4000 bytes that arrive together
  EXPECT_EQ(total(), 5 * kMicrosecond);
}

TEST(Simulator, TimesBeyondAHundredDaysAreRefused) {
  expect_value_error([] { simulate(plan_of(star({1e-9, 1e-9}), {{0, 1, size_t{1} << 40}})); }, "over a hundred days");
  TopologySpec slow = star({1, 1});
  slow.links[0].latency = 1000;
  EXPECT_EQ(simulate(plan_of(slow, {{0, 1, 1000}})).total_ps, 1'000'000'000'000'000 + kMicrosecond);
}

TEST(Simulator, TheTreeOnFourGpusByHand) {
  // gpu0 has the children gpu1 and gpu2, gpu1 has gpu3. 10 ms each at full rate: 3 to 1 and 2 to 0 at once, then 1 to
  // 0. Back: to 1 and 2 at once, which share gpu0's link for 20 ms, then 1 to 3.
  const TopologyPtr topology = without_latency(*loaded("pcie4"));
  const CommunicationPlan plan = make_plan("tree", request_for(topology, 160'000'000));
  EXPECT_EQ(simulate(plan).total_ps, 50'000 * kMicrosecond);
}

TEST(Simulator, SlicesOverlapTheHalvesOfACentralSum) {
  // 30 ms for all to come in; the last of k slices goes out after that.
  const TopologyPtr topology = without_latency(*loaded("pcie4"));
  CollectiveRequest request = request_for(topology, 160'000'000);
  for (int slices : {1, 2, 4, 10}) {
    request.slices = slices;
    EXPECT_EQ(simulate(make_plan("central", request)).total_ps, (30'000 + 30'000 / slices) * kMicrosecond) << slices;
  }
}

TEST(Simulator, InvariantsOnRandomTopologies) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100; ++i) {
    CollectiveRequest request;
    request.topology = random_topology(random);
    request.devices.resize(request.topology->device_count());
    std::iota(request.devices.begin(), request.devices.end(), 0);
    request.bytes = random() % 10'000'000;
    request.slices = 1 + static_cast<int>(random() % 3);
    for (const Strategy& strategy : strategies()) {
      if (!obstacle_of(strategy, request).empty()) continue;
      SCOPED_TRACE(std::string(strategy.name) + " in round " + std::to_string(i));
      const CommunicationPlan plan = make_plan(strategy.name, request);
      const Simulation simulation = simulate(plan);
      int64_t last = 0;
      std::vector<uint64_t> bytes(simulation.resources.size());
      for (size_t s = 0; s < plan.steps().size(); ++s) {
        const Step& step = plan.steps()[s];
        const int64_t latency = step.kind == StepKind::kCopy ? plan.routes()[step.route].latency_ps : 0;
        ASSERT_LE(simulation.steps[s].begin_ps, simulation.steps[s].end_ps);
        for (int before : step.after)
          ASSERT_GE(simulation.steps[s].begin_ps, simulation.steps[before].end_ps + latency);
        last = std::max(last, simulation.steps[s].end_ps);
        if (step.kind == StepKind::kCopy)
          for (int r : plan.routes()[step.route].resources) bytes[r] += step.range.size();
        else if (const int r = request.topology->reduce_resource(step.target.device); r >= 0)
          bytes[r] += step.range.size();
      }
      ASSERT_EQ(last, simulation.total_ps);
      for (size_t r = 0; r < bytes.size(); ++r) {
        const ResourceLoad& load = simulation.resources[r];
        ASSERT_EQ(load.bytes, bytes[r]);
        ASSERT_LE(load.busy_ps, simulation.total_ps);
        // Nothing passes faster than the resource allows; a picosecond of rounding for each step.
        const double least = static_cast<double>(load.bytes) / request.topology->resources()[r].bandwidth * 1e12;
        ASSERT_GE(static_cast<double>(load.busy_ps) + static_cast<double>(plan.steps().size()), least);
      }
      const Simulation again = simulate(plan);
      ASSERT_EQ(again.total_ps, simulation.total_ps);
      for (size_t s = 0; s < plan.steps().size(); ++s) ASSERT_EQ(again.steps[s].end_ps, simulation.steps[s].end_ps);
    }
  }
}

nlohmann::json trace_of(const CommunicationPlan& plan) {
  std::ostringstream out;
  write_chrome_trace(plan, simulate(plan), out);
  return nlohmann::json::parse(out.str());
}

TEST(SimulatorTrace, ALaneForEachLinkDirectionAndForEachThatShareIt) {
  const nlohmann::json trace = trace_of(plan_of(star({8, 8, 8}), {{1, 0, 8000}, {2, 0, 4000}}));
  std::map<std::string, int> lanes;
  std::map<int, int> bars;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") lanes[event["args"]["name"]] = event["tid"];
    if (event["ph"] == "X") ++bars[event["tid"]];
  }
  EXPECT_EQ(lanes.size(), 4u);
  for (const char* name : {"gpu1>s", "gpu2>s", "s>gpu0", "s>gpu0 (2)"}) {
    ASSERT_TRUE(lanes.contains(name)) << name;
    EXPECT_EQ(bars[lanes[name]], 1) << name;
  }
  // 4 GB/s each for 1 us, then 8 for the rest: microseconds.
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["args"]["step"] == 0) {
      EXPECT_EQ(event["ts"], 0.0);
      EXPECT_EQ(event["dur"], 1.5);
      EXPECT_EQ(event["name"], "gpu1 to gpu0");
    }
}

TEST(SimulatorTrace, BarsOfALaneDoNotOverlap) {
  CollectiveRequest request = request_for(loaded("p3"), 1'000'000);
  request.slices = 4;
  for (const Strategy& strategy : strategies()) {
    std::map<int, double> until;
    const nlohmann::json trace = trace_of(make_plan(strategy.name, request));
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const double begin = event["ts"], end = begin + event["dur"].get<double>();
      const int lane = event["tid"];
      ASSERT_GE(begin, until[lane] - 1e-6) << strategy.name;
      until[lane] = end;
    }
    EXPECT_FALSE(until.empty());
  }
}

}  // namespace
}  // namespace headrace::kvstore
