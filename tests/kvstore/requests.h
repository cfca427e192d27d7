// Requests for the tests of src/kvstore.
#pragma once

#include <utility>

#include "kvstore/strategies.h"
#include "tests/device/topologies.h"

namespace headrace::kvstore {

inline CollectiveRequest request_for(TopologyPtr topology, size_t bytes) {
  CollectiveRequest request;
  request.devices = default_devices(*topology);
  request.topology = std::move(topology);
  request.bytes = bytes;
  return request;
}

}  // namespace headrace::kvstore
