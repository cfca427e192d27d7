#include "kvstore/rings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "requests.h"

namespace headrace::kvstore {
namespace {

using Pair = std::pair<int, int>;

// The unordered pairs of neighbours.
std::set<Pair> hops_of(const std::vector<int>& ring) {
  std::set<Pair> hops;
  for (size_t i = 0; i < ring.size(); ++i) hops.insert(std::minmax(ring[i], ring[(i + 1) % ring.size()]));
  return hops;
}

TEST(Rings, AP3FallsIntoOneDoubleAndOneSingleRing) {
  const TopologyPtr topology = loaded("p3");
  const std::vector<Ring> rings = find_rings(*topology, topology->gpus(), 8);
  ASSERT_EQ(rings.size(), 2u);
  EXPECT_EQ(rings[0].bandwidth, 36e9);
  EXPECT_EQ(rings[1].bandwidth, 18e9);
  for (const Ring& ring : rings)
    for (size_t i = 0; i < 8; ++i) EXPECT_TRUE(topology->route(ring.devices[i], ring.devices[(i + 1) % 8]).direct());

  // Numbered along the double ring from its third device, the single one is 1-4-6-3-5-8-2-7-1, or its mirror image.
  std::set<Pair> book;
  const int order[] = {1, 4, 6, 3, 5, 8, 2, 7};
  bool found = false;
  for (int turn : {1, 7})
    for (size_t start = 0; start < 8 && !found; ++start) {
      const auto device = [&](int number) { return rings[0].devices[(start + turn * (number - 1)) % 8]; };
      std::set<Pair> hops;
      for (size_t i = 0; i < 8; ++i) hops.insert(std::minmax(device(order[i]), device(order[(i + 1) % 8])));
      found = hops == hops_of(rings[1].devices);
    }
  EXPECT_TRUE(found);
}

TEST(Rings, NotMoreThanAskedFor) {
  const TopologyPtr topology = loaded("p3");
  EXPECT_EQ(find_rings(*topology, topology->gpus(), 1).size(), 1u);
}

TEST(Rings, OverASwitchThereIsOne) {
  const TopologyPtr topology = loaded("pcie4");
  const std::vector<Ring> rings = find_rings(*topology, topology->gpus(), 8);
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_EQ(rings[0].bandwidth, 16e9);
  EXPECT_EQ(rings[0].devices.size(), 4u);
}

// Neighbours in the same machine: every Ethernet link is passed once in each direction and not more often.
TEST(Rings, MachinesAreNotEnteredTwice) {
  const TopologyPtr topology = loaded("ethernet:3x10x2");
  std::vector<int> mixed{topology->find_device("node0/gpu0"), topology->find_device("node1/gpu0"),
                         topology->find_device("node2/gpu0"), topology->find_device("node0/gpu1"),
                         topology->find_device("node1/gpu1"), topology->find_device("node2/gpu1")};
  const std::vector<Ring> rings = find_rings(*topology, mixed, 1);
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_DOUBLE_EQ(rings[0].bandwidth, 1.25e9 * 1448 / 1538);
}

TEST(Rings, OneDeviceIsNoRingAndTwoAreOne) {
  const TopologyPtr topology = loaded("p3");
  EXPECT_TRUE(find_rings(*topology, std::vector<int>{2}, 8).empty());
  const std::vector<int> pair{topology->find_device("gpu0"), topology->find_device("gpu3")};
  const std::vector<Ring> rings = find_rings(*topology, pair, 8);
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_EQ(rings[0].bandwidth, 36e9);
}

TEST(Rings, ASharedLinkCarriesBothWaysOfAPair) {
  const Topology topology({"t", {{"gpu0"}, {"gpu1"}}, {}, {{"gpu0", "gpu1", 10e9, 0, 1, Duplex::kShared}}});
  const std::vector<Ring> rings = find_rings(topology, std::vector<int>{0, 1}, 8);
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_EQ(rings[0].bandwidth, 5e9);
}

// Whatever the topology: a ring through all devices, and all rings together overload nothing in either direction.
TEST(Rings, FitTogetherOnRandomTopologies) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    const TopologyPtr topology = random_topology(random);
    std::vector<int> devices(topology->device_count());
    std::iota(devices.begin(), devices.end(), 0);
    if (devices.size() < 2) continue;
    const std::vector<Ring> rings = find_rings(*topology, devices, 8);
    ASSERT_FALSE(rings.empty());
    std::vector<double> forward(topology->resources().size()), backward(topology->resources().size());
    for (const Ring& ring : rings) {
      ASSERT_EQ(std::set<int>(ring.devices.begin(), ring.devices.end()).size(), devices.size());
      ASSERT_EQ(ring.devices.size(), devices.size());
      for (size_t at = 0; at < devices.size(); ++at) {
        const int a = ring.devices[at], b = ring.devices[(at + 1) % devices.size()];
        for (int r : topology->route(a, b).resources) forward[r] += ring.bandwidth;
        for (int r : topology->route(b, a).resources) backward[r] += ring.bandwidth;
      }
    }
    for (size_t r = 0; r < forward.size(); ++r)
      ASSERT_LE(std::max(forward[r], backward[r]), topology->resources()[r].bandwidth * 1.0001) << "topology " << i;
  }
}

}  // namespace
}  // namespace headrace::kvstore
