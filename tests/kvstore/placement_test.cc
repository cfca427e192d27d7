#include "kvstore/placement.h"

#include <gtest/gtest.h>

#include "tests/device/topologies.h"

namespace headrace::kvstore {
namespace {

Device gpu(int id) { return {DeviceType::kGpu, id}; }
Device cpu(int id) { return {DeviceType::kCpu, id}; }

TEST(Placement, CountsGpusOverNodes) {
  const TopologyPtr nodes = loaded("ethernet:2x10x2");
  const char* const names[] = {"node0/gpu0", "node0/gpu1", "node1/gpu0", "node1/gpu1"};
  for (int i = 0; i < 4; ++i) {
    const std::optional<int> number = number_of(*nodes, gpu(i));
    ASSERT_TRUE(number);
    EXPECT_EQ(nodes->device_name(*number), names[i]);
    EXPECT_EQ(device_of(*nodes, *number), gpu(i));
  }
  EXPECT_FALSE(number_of(*nodes, gpu(4)));
  EXPECT_EQ(device_of(*nodes, nodes->find_device("node1/cpu0")), cpu(0));
}

TEST(Placement, FindsCpusByNumber) {
  const TopologyPtr p3 = loaded("p3");
  EXPECT_EQ(number_of(*p3, cpu(1)), p3->find_device("cpu1"));
  EXPECT_EQ(number_of(*p3, {DeviceType::kCpuPinned, 0}), p3->find_device("cpu0"));
  EXPECT_FALSE(number_of(*p3, cpu(2)));
  const std::string names[] = {"cpu5", "gpu0"};
  const Topology star(star_topology(names));
  EXPECT_EQ(number_of(star, cpu(0)), 0);  // the host, whatever its number
}

}  // namespace
}  // namespace headrace::kvstore
