// CPUs to train on as if they were several devices.
#pragma once

#include <vector>

#include "headrace/device.hpp"

namespace headrace {

inline std::vector<Device> first_devices(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back(cpu(i));
  return devices;
}

}  // namespace headrace
