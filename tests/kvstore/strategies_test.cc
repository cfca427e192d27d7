#include "kvstore/strategies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kvstore/interpreter.h"
#include "requests.h"

namespace headrace::kvstore {
namespace {

// Small whole numbers, so that every order of summation gives the same.
float value_of(int device, size_t element) {
  return static_cast<float>(device * 7 + static_cast<int>(element % 5) + 1);
}

float sum_of(const CommunicationPlan& plan, size_t element) {
  float sum = 0;
  for (int device : plan.devices()) sum += value_of(device, element);
  return sum;
}

bool owns(const CommunicationPlan& plan, int device, size_t element) {
  return std::any_of(plan.owners().begin(), plan.owners().end(), [&](const Owner& owner) {
    return owner.device == device && owner.range.begin <= 4 * element && 4 * element < owner.range.end;
  });
}

// What the devices hold before the plan: gradients; for a broadcast, the owners' ranges only and elsewhere nothing.
HostBuffers before(const CommunicationPlan& plan) {
  const size_t elements = plan.bytes() / 4;
  HostBuffers buffers(plan.topology().device_count());
  if (plan.collective() != Collective::kBroadcast) {
    for (int device : plan.devices())
      for (size_t i = 0; i < elements; ++i) buffers[device].push_back(value_of(device, i));
    return buffers;
  }
  for (const Owner& owner : plan.owners()) {
    buffers[owner.device].resize(elements, std::nanf(""));
    for (size_t i = owner.range.begin / 4; i < owner.range.end / 4; ++i) buffers[owner.device][i] = sum_of(plan, i);
  }
  return buffers;
}

void expect_result(const CommunicationPlan& plan, const HostBuffers& after) {
  const size_t elements = plan.bytes() / 4;
  for (size_t i = 0; i < elements; ++i) {
    int owners = 0;
    for (int device = 0; device < plan.topology().device_count(); ++device) {
      const bool takes_part = std::find(plan.devices().begin(), plan.devices().end(), device) != plan.devices().end();
      owners += owns(plan, device, i);
      if (!owns(plan, device, i) && !(takes_part && plan.collective() != Collective::kReduce)) continue;
      ASSERT_EQ(after[device].at(i), sum_of(plan, i)) << plan.text() << "element " << i << " of device " << device;
    }
    ASSERT_EQ(owners, 1) << "element " << i;
  }
}

// A random order that the plan allows.
std::vector<int> shuffled(const CommunicationPlan& plan, std::mt19937_64& random) {
  std::vector<int> waiting, ready, order;
  for (const Step& step : plan.steps()) waiting.push_back(static_cast<int>(step.after.size()));
  for (size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] == 0) ready.push_back(static_cast<int>(i));
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    for (size_t i = order.back() + 1; i < waiting.size(); ++i)
      for (int needed : plan.steps()[i].after)
        if (needed == order.back() && --waiting[i] == 0) ready.push_back(static_cast<int>(i));
  }
  return order;
}

// Steps that touch the same bytes, one of them writing, are ordered by the plan.
void expect_no_races(const CommunicationPlan& plan) {
  const std::span<const Step> steps = plan.steps();
  std::vector<std::vector<bool>> earlier(steps.size(), std::vector<bool>(steps.size()));
  const auto overlap = [&](const Step& a, const Step& b) {
    return a.range.begin < b.range.end && b.range.begin < a.range.end;
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    for (int before : steps[i].after) {
      ASSERT_LT(before, static_cast<int>(i));
      earlier[i][before] = true;
      for (int j = 0; j < before; ++j)
        if (earlier[before][j]) earlier[i][j] = true;
    }
    for (size_t j = 0; j < i; ++j) {
      const bool conflict = steps[i].target == steps[j].target || steps[i].target == steps[j].source ||
                            steps[i].source == steps[j].target;
      if (!conflict || !overlap(steps[i], steps[j])) continue;
      ASSERT_TRUE(earlier[i][j]) << "steps " << j << " and " << i << "\n" << plan.text();
    }
  }
}

CollectiveRequest random_request(std::mt19937_64& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  CollectiveRequest request;
  request.topology = random_topology(random);
  std::vector<int> all(request.topology->device_count());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  std::shuffle(all.begin(), all.end(), random);
  request.devices.assign(all.begin(), all.begin() + 1 + below(static_cast<int>(all.size())));
  const int elements[] = {0, 1, 2, 3, 7, 16, 41};
  request.bytes = 4 * static_cast<size_t>(elements[below(7)]);
  request.collective = static_cast<Collective>(below(3));
  if (below(2)) request.root = request.devices[below(static_cast<int>(request.devices.size()))];
  std::shuffle(all.begin(), all.end(), random);
  if (below(2)) request.servers.assign(all.begin(), all.begin() + 1 + below(static_cast<int>(all.size())));
  request.slices = 1 + below(4);
  return request;
}

TEST(Strategies, EveryDeviceGetsTheSumOnRandomTopologies) {
  std::mt19937_64 random(20);
  int plans = 0;
  for (int i = 0; i < 300; ++i) {
    const CollectiveRequest request = random_request(random);
    for (const Strategy& strategy : strategies()) {
      SCOPED_TRACE(std::string(strategy.name) + " in round " + std::to_string(i));
      if (!obstacle_of(strategy, request).empty()) continue;
      const CommunicationPlan plan = make_plan(strategy.name, request);
      ++plans;
      expect_no_races(plan);
      expect_result(plan, interpret(plan, before(plan)));
      expect_result(plan, interpret(plan, before(plan), shuffled(plan, random)));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(plans, 2000);
}

// The order of additions belongs to the plan, so rounding is the same in every run.
TEST(Strategies, SumsAreTheSameBitsInEveryOrder) {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<float> uniform(-1, 1);
  CollectiveRequest request = request_for(loaded("p3"), 4 * 100);
  request.slices = 3;
  for (const Strategy& strategy : strategies()) {
    const CommunicationPlan plan = make_plan(strategy.name, request);
    HostBuffers buffers(plan.topology().device_count());
    for (int device : plan.devices())
      for (int i = 0; i < 100; ++i) buffers[device].push_back(uniform(random));
    const HostBuffers first = interpret(plan, buffers);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(first, interpret(plan, buffers, shuffled(plan, random))) << strategy.name;
  }
}

TEST(Strategies, ElementsAreNotDivided) {
  CollectiveRequest request = request_for(loaded("p3"), 8 * 37);
  request.element_bytes = 8;
  request.slices = 3;
  for (const Strategy& strategy : strategies()) {
    const CommunicationPlan plan = make_plan(strategy.name, request);
    for (const Step& step : plan.steps()) {
      EXPECT_EQ(step.range.begin % 8, 0u) << strategy.name;
      EXPECT_EQ(step.range.end % 8, 0u) << strategy.name;
      EXPECT_LT(step.range.begin, step.range.end);
    }
  }
}

TEST(Strategies, MachinesOfTheHierarchyMayDiffer) {
  const TopologyPtr topology = loaded("ethernet:3x10x4");
  CollectiveRequest request = request_for(topology, 4 * 50);
  request.devices.clear();
  for (const char* name :
       {"node0/gpu2", "node1/gpu0", "node0/gpu0", "node2/gpu3", "node1/gpu1", "node1/gpu3", "node2/gpu1"})
    request.devices.push_back(topology->find_device(name));
  for (const char* strategy : {"hierarchical", "hierarchical_ring"})
    for (Collective collective : {Collective::kAllreduce, Collective::kReduce, Collective::kBroadcast})
      for (int slices : {1, 3}) {
        request.collective = collective;
        request.slices = slices;
        const CommunicationPlan plan = make_plan(strategy, request);
        expect_no_races(plan);
        expect_result(plan, interpret(plan, before(plan)));
        for (const Owner& owner : plan.owners())
          EXPECT_NE(owner.device, topology->find_device("node1/gpu3"))
              << "the third of a machine where others have two";
      }
}

TEST(Strategies, SlicesFollowEachOtherOnEveryPath) {
  CollectiveRequest request = request_for(loaded("pcie4"), 4096);
  request.slices = 4;
  const CommunicationPlan plan = make_plan("central", request);
  // Three copies in, three sums and three copies out, four times.
  EXPECT_EQ(plan.steps().size(), 4u * 9);
  for (const Step& step : plan.steps()) EXPECT_EQ(step.slice, static_cast<int>(step.range.begin / 1024));
}

TEST(Strategies, OneDeviceHasNothingToDo) {
  CollectiveRequest request = request_for(loaded("p3"), 1024);
  request.devices = {request.topology->find_device("gpu5")};
  for (const char* name : {"central", "tree", "ring", "bidirectional_ring", "rings", "bidirectional_rings", "sharded"})
    EXPECT_TRUE(make_plan(name, request).steps().empty()) << name;
}

TEST(Strategies, TheHostIsThatOfTheRootsMachine) {
  CollectiveRequest request = request_for(loaded("ethernet:3x10"), 64);
  request.root = request.topology->find_device("node2/gpu0");
  const CommunicationPlan plan = make_plan("host", request);
  ASSERT_EQ(plan.owners().size(), 1u);
  EXPECT_EQ(request.topology->device_name(plan.owners()[0].device), "node2/cpu0");
}

TEST(Strategies, ScratchIsWhatArrivesToBeAdded) {
  const CollectiveRequest request = request_for(loaded("pcie4"), 4000);
  const auto scratch = [&](const char* strategy, const char* device) {
    return make_plan(strategy, request).scratch_bytes(request.topology->find_device(device));
  };
  EXPECT_EQ(scratch("central", "gpu0"), 3 * 4000u);
  EXPECT_EQ(scratch("central", "gpu1"), 0u);
  EXPECT_EQ(scratch("host", "cpu0"), 3 * 4000u);  // the first gradient arrives in the sum's own place
  EXPECT_EQ(scratch("sharded", "gpu2"), 3 * 1000u);
  EXPECT_EQ(scratch("ring", "gpu2"), 3 * 1000u);
}

TEST(Strategies, RequestsThatMakeNoSense) {
  const CollectiveRequest good = request_for(loaded("pcie4"), 64);
  const auto with = [&](auto change, const char* strategy) {
    return [=] {
      CollectiveRequest request = good;
      change(request);
      make_plan(strategy, request);
    };
  };
  expect_value_error(with([](CollectiveRequest&) {}, "star"), "no strategy 'star'; known are host, central, tree");
  expect_value_error(with([](CollectiveRequest& r) { r.devices.clear(); }, "ring"), "there are no devices");
  expect_value_error(with([](CollectiveRequest& r) { r.devices.push_back(r.devices[0]); }, "ring"),
                     "gpu0 is listed twice");
  expect_value_error(with([](CollectiveRequest& r) { r.servers = {0, 0}; }, "ring"), "cpu0 is listed twice");
  expect_value_error(with([](CollectiveRequest& r) { r.slices = 0; }, "ring"), "from 1 to 4096, got 0");
  expect_value_error(with([](CollectiveRequest& r) { r.element_bytes = 0; }, "ring"), "at least 1 byte");
  expect_value_error(with([](CollectiveRequest& r) { r.root = 0; }, "tree"), "the root cpu0 is not among the devices");
  CollectiveRequest no_cpu = good;
  no_cpu.topology = std::make_shared<Topology>(TopologySpec{"t", {{"gpu0"}, {"gpu1"}}, {}, {{"gpu0", "gpu1", 1e9}}});
  no_cpu.devices = {0, 1};
  expect_value_error([&] { make_plan("host", no_cpu); }, "the topology has no CPU");
  expect_value_error([&] { make_plan("parameter_server", no_cpu); }, "the topology has no CPU");
  no_cpu.servers = {1};
  EXPECT_NO_THROW(make_plan("parameter_server", no_cpu));
}

TEST(Strategies, DevicesWithoutGpusAreTheHosts) {
  const Topology hosts({"t", {{"cpu0"}, {"cpu1"}}, {}, {{"cpu0", "cpu1", 1e9}}});
  EXPECT_EQ(default_devices(hosts), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace headrace::kvstore
