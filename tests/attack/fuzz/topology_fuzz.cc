// Topologies, as files and as names of presets: src/device/topology_json.cc, topology_presets.cc and the planner that
// works with their numbers.
#include "device/topology.h"

#include <memory>

#include "kvstore/planner.h"
#include "tests/attack/fuzz/fuzz.h"

namespace headrace::fuzz {
namespace {

void use(const Topology& topology) {
  const std::string text = write_topology(topology.spec());
  expect(write_topology(read_topology(text)) == text, "a topology changes when it is read");
  const int devices = std::min(topology.device_count(), 6);
  for (int from = 0; from < devices; ++from)
    for (int to = 0; to < devices; ++to)
      if (from != to) topology.route(from, to);
  kvstore::CollectiveRequest request;
  request.topology = std::make_shared<const Topology>(topology);
  request.devices = kvstore::default_devices(topology);
  request.bytes = 1'000'000;
  if (request.devices.size() > 4) request.devices.resize(4);
  for (const kvstore::Comparison& one : kvstore::compare(request))
    expect(!one.possible() || one.whole.total_ps >= 0, "a prediction is negative");
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> result;
  for (const char* preset : {"pcie2", "p3", "ethernet:2x10", "ethernet:2x10x2"}) {
    result.emplace_back(preset);
    result.push_back(write_topology(load_topology(preset).spec()));
  }
  TopologySpec limited{.name = "all fields",
                       .devices = {{"cpu0"}, {"gpu0", 1e9, {1e12, 1e11, 1e-6}}},
                       .switches = {{"hub", 5e9}},
                       .links = {{"cpu0", "hub", 1e9, 1e-6, 2, Duplex::kShared}, {"gpu0", "hub", 2e9}}};
  result.push_back(write_topology(limited));
  return result;
}

}  // namespace headrace::fuzz

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(fuzz::text_of(data, size));
  fuzz::accepts([&] { fuzz::use(Topology(read_topology(text))); });
  fuzz::accepts([&] { fuzz::use(load_topology(fuzz::File(text).path())); });
  if (text.find('/') == text.npos) fuzz::accepts([&] { fuzz::use(load_topology(text)); });
  return 0;
}
