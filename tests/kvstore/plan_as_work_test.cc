// A plan, pushed as operations onto a virtual machine, takes what the plan's own simulation says: where no two of its
// copies go from one device to the same other one at the same time, since a stream runs one after the other.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/sim/virtual_machine.h"
#include "kvstore/simulator.h"
#include "requests.h"

namespace headrace::kvstore {
namespace {

// Without rates and with a frontend that takes no time, so that links are all that counts.
int64_t pushed(const CommunicationPlan& plan, TopologyPtr topology) {
  sim::MachineSpec spec(std::move(topology));
  spec.rates.assign(spec.rates.size(), {});
  spec.push_seconds = 0;
  spec.most_pending = static_cast<int64_t>(plan.steps().size()) + 1;
  sim::VirtualMachine machine(spec);
  const Topology& places = plan.topology();
  for (const Step& step : plan.steps()) {
    const Device source = places.device(step.source.device), target = places.device(step.target.device);
    PushedWork work{.name = "step", .device = target, .bytes = static_cast<double>(step.range.size())};
    if (step.kind == StepKind::kCopy) {
      const bool to_host = target.is_host();
      work.device = to_host ? source : target;
      work.role = to_host            ? StreamRole::kDeviceToHost
                  : source.is_host() ? StreamRole::kHostToDevice
                                     : StreamRole::kCommunication;
      if (work.role == StreamRole::kCommunication) work.source = source;
    }
    std::vector<const void*> before;
    for (int number : step.after) before.push_back(&plan.steps()[number]);
    const void* const self = &step;
    work.reads = before;
    work.writes = {&self, 1};
    machine.pushed(work);
  }
  machine.waited_all();
  return machine.now_ps();
}

class PlanAsWork : public ::testing::TestWithParam<std::string> {};

TEST_P(PlanAsWork, TakesTheSameTime) {
  for (const char* preset : {"pcie4", "p3"}) {
    const CollectiveRequest request = request_for(loaded(preset), 160'000'000);
    const CommunicationPlan plan = make_plan(GetParam(), request);
    EXPECT_EQ(pushed(plan, request.topology), simulate(plan).total_ps) << preset;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, PlanAsWork,
                         ::testing::Values("host", "central", "tree", "ring", "bidirectional_ring", "rings",
                                           "bidirectional_rings", "sharded"));

TEST(PlansAsWork, OnRandomTopologies) {
  std::mt19937_64 random(11);
  int compared = 0;
  for (int i = 0; i < 100; ++i) {
    TopologySpec spec = random_topology(random)->spec();
    for (DeviceSpec& device : spec.devices) device.reduce_bandwidth = kUnlimited;  // sums have rates here
    CollectiveRequest request = request_for(std::make_shared<Topology>(spec), 1'000'000 + random() % 1'000'000);
    request.collective = random() % 2 ? Collective::kReduce : Collective::kBroadcast;
    request.slices = 1 + static_cast<int>(random() % 4);
    for (const char* strategy : {"central", "tree", "ring", "sharded"}) {
      const Strategy& chosen = *std::ranges::find(strategies(), strategy, &Strategy::name);
      if (!obstacle_of(chosen, request).empty()) continue;
      const CommunicationPlan plan = make_plan(strategy, request);
      ASSERT_EQ(pushed(plan, request.topology), simulate(plan).total_ps) << strategy << " in round " << i;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace headrace::kvstore
