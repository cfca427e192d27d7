// Topologies of CPU devices, on which plans can be carried out everywhere.
#pragma once

#include <string>
#include <vector>

#include "tests/device/topologies.h"

namespace headrace::kvstore {

inline std::vector<Device> cpus(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back({DeviceType::kCpu, i});
  return devices;
}

inline TopologyPtr cpu_star(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cpu" + std::to_string(i));
  return std::make_shared<Topology>(star_topology(names));
}

// The links of p3 between cpu0 to cpu7 in the places of its GPUs; its CPUs are cpu8 and cpu9.
inline TopologyPtr cpu_mesh() {
  TopologySpec spec = load_topology("p3").spec();
  const auto rename = [](std::string& name) {
    if (name.starts_with("gpu"))
      name = "cpu" + name.substr(3);
    else if (name.starts_with("cpu"))
      name = "cpu" + std::to_string(8 + std::stoi(name.substr(3)));
  };
  for (DeviceSpec& device : spec.devices) rename(device.name);
  for (LinkSpec& link : spec.links) rename(link.from), rename(link.to);
  return std::make_shared<Topology>(spec);
}

}  // namespace headrace::kvstore
