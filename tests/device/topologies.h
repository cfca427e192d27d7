// Topologies for the tests of src/device and src/kvstore.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/topology.h"
#include "headrace/error.hpp"

namespace headrace {

using TopologyPtr = std::shared_ptr<const Topology>;

inline TopologyPtr loaded(const std::string& name) { return std::make_shared<Topology>(load_topology(name)); }

// The same without latencies, so that times are bytes through bandwidths and nothing else.
inline TopologyPtr without_latency(const Topology& topology) {
  TopologySpec spec = topology.spec();
  for (LinkSpec& link : spec.links) link.latency = 0;
  return std::make_shared<Topology>(spec);
}

// Up to six GPUs and two CPUs on up to three switches in a row, with some direct links; every device reaches every
// other.
inline TopologyPtr random_topology(std::mt19937_64& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  const auto link = [&](const std::string& a, const std::string& b) {
    return LinkSpec{
        a, b, 1e9 * (1 + below(20)), 1e-7 * below(30), 1 + below(2), below(3) ? Duplex::kFull : Duplex::kShared};
  };
  TopologySpec spec{"random", {}, {}, {}};
  const int gpus = 1 + below(6), cpus = below(3), switches = 1 + below(3);
  for (int i = 0; i < switches; ++i) {
    spec.switches.push_back({"switch" + std::to_string(i), below(3) ? kUnlimited : 1e9 * (1 + below(40))});
    if (i > 0) spec.links.push_back(link(spec.switches[i - 1].name, spec.switches[i].name));
  }
  for (int i = 0; i < gpus + cpus; ++i) {
    const std::string name = i < gpus ? "gpu" + std::to_string(i) : "cpu" + std::to_string(i - gpus);
    spec.devices.push_back({name, below(3) ? kUnlimited : 1e9 * (1 + below(100))});
    spec.links.push_back(link(name, spec.switches[below(switches)].name));
  }
  const int direct = below(3);  // none, some, all
  for (int a = 0; a < gpus; ++a)
    for (int b = a + 1; b < gpus; ++b)
      if (direct == 2 || (direct == 1 && below(2)))
        spec.links.push_back(link(spec.devices[a].name, spec.devices[b].name));
  return std::make_shared<Topology>(spec);
}

// Expects `body` to raise ValueError with a text that holds `part`.
template <class F>
void expect_value_error(F&& body, const std::string& part) {
  try {
    body();
    ADD_FAILURE() << "nothing was raised; expected a text with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kValue) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace headrace
