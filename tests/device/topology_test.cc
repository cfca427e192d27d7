#include "device/topology.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/files.h"
#include "topologies.h"

namespace headrace {
namespace {

std::vector<std::string> names(const Topology& topology, const Route& route) {
  std::vector<std::string> result;
  for (int vertex : route.vertices) result.push_back(topology.vertex_name(vertex));
  return result;
}

Route route_between(const Topology& topology, const char* from, const char* to) {
  return topology.route(topology.find_device(from), topology.find_device(to));
}

using Names = std::vector<std::string>;

TEST(Topology, NamesSayKindNumberAndNode) {
  const Topology topology({"t", {{"node3/gpu12"}, {"cpu1"}}, {{"s"}}, {{"node3/gpu12", "s", 1e9}, {"s", "cpu1", 1e9}}});
  EXPECT_EQ(topology.device(0), (Device{DeviceType::kGpu, 12}));
  EXPECT_EQ(topology.node(0), 3);
  EXPECT_EQ(topology.device(1), (Device{DeviceType::kCpu, 1}));
  EXPECT_EQ(topology.node(1), 0);
  EXPECT_EQ(topology.gpus(), (std::vector<int>{0}));
  EXPECT_EQ(topology.hosts(), (std::vector<int>{1}));
}

TEST(Topology, OneDeviceNeedsNoLink) {
  const Topology topology({"alone", {{"gpu0"}}, {}, {}});
  EXPECT_EQ(topology.route(0, 0).resources.size(), 0u);
}

TEST(Topology, TheWidestRouteWinsThenTheNearest) {
  // gpu0 to gpu1: directly with 10, over s with 20, over t and u with 20 and less latency.
  const Topology topology({"t",
                           {{"gpu0"}, {"gpu1"}},
                           {{"s"}, {"t"}, {"u"}},
                           {{"gpu0", "gpu1", 10e9},
                            {"gpu0", "s", 20e9, 5e-6},
                            {"s", "gpu1", 30e9, 5e-6},
                            {"gpu0", "t", 10e9, 1e-6, 2},
                            {"t", "u", 25e9, 1e-6},
                            {"u", "gpu1", 20e9, 1e-6}}});
  const Route route = topology.route(0, 1);
  EXPECT_EQ(names(topology, route), (Names{"gpu0", "t", "u", "gpu1"}));
  EXPECT_EQ(route.bandwidth, 20e9);
  EXPECT_EQ(route.latency_ps, 3'000'000);
  EXPECT_FALSE(route.direct());
}

TEST(Topology, DevicesDoNotForward) {
  const TopologySpec chain{"chain", {{"gpu0"}, {"gpu1"}, {"gpu2"}}, {}, {{"gpu0", "gpu1", 1e9}, {"gpu1", "gpu2", 1e9}}};
  expect_value_error([&] { Topology{chain}; }, "no route leads from gpu0 to gpu2");
}

TEST(Topology, LimitsOfSwitchesAreOnTheRoute) {
  const Topology topology({"t", {{"gpu0"}, {"gpu1"}}, {{"s", 4e9}}, {{"gpu0", "s", 10e9}, {"gpu1", "s", 10e9}}});
  const Route route = topology.route(0, 1);
  EXPECT_EQ(route.bandwidth, 4e9);
  Names resources;
  for (int resource : route.resources) resources.push_back(topology.resources()[resource].name);
  EXPECT_EQ(resources, (Names{"gpu0>s", "s", "s>gpu1"}));
}

TEST(Topology, SharedLinksAreOneResource) {
  const Topology topology({"t", {{"gpu0"}, {"gpu1"}}, {}, {{"gpu0", "gpu1", 1e9, 0, 1, Duplex::kShared}}});
  EXPECT_EQ(topology.route(0, 1).resources, topology.route(1, 0).resources);
  EXPECT_EQ(topology.resources().size(), 1u);
}

TEST(Topology, SpecsThatMakeNoSense) {
  const auto spec = [](std::vector<DeviceSpec> devices, std::vector<SwitchSpec> switches, std::vector<LinkSpec> links) {
    return [=] { Topology(TopologySpec{"bad", devices, switches, links}); };
  };
  const std::vector<DeviceSpec> two{{"gpu0"}, {"gpu1"}};
  const auto link = [&](LinkSpec one) { return spec(two, {}, {one}); };
  expect_value_error(spec({}, {}, {}), "no device");
  expect_value_error(spec(std::vector<DeviceSpec>(2049, {"gpu0"}), {}, {}), "at most 2048");
  for (const char* name : {"", "gpu", "gpu-1", "tpu0", "gpu0x", "node/gpu0", "nodex/gpu0", "node1gpu0", "node1/",
                           "GPU0", "gpu00", "node01/gpu0"})
    expect_value_error(spec({{name}}, {}, {}), "is no name of a device");
  expect_value_error(spec({{"gpu0"}, {"gpu0"}}, {}, {}), "two devices or switches named 'gpu0'");
  expect_value_error(spec({{"gpu0"}}, {{"gpu0"}}, {}), "two devices or switches named 'gpu0'");
  expect_value_error(spec({{"gpu0"}}, {{""}}, {}), "empty name");
  expect_value_error(spec(two, {}, {}), "no route leads from gpu0 to gpu1");
  expect_value_error(link({"gpu0", "gpu2", 1e9}), "link gpu0-gpu2 ends at 'gpu2', which is neither");
  expect_value_error(link({"gpu0", "gpu0", 1e9}), "leads back");
  expect_value_error(link({"gpu0", "gpu1", -1e9}), "the bandwidth of link gpu0-gpu1 must be");
  expect_value_error(link({"gpu0", "gpu1", 0}), "must be from 1");
  expect_value_error(link({"gpu0", "gpu1", std::numeric_limits<double>::quiet_NaN()}), "got nan");
  expect_value_error(link({"gpu0", "gpu1", 1e9, -1e-6}), "latency of link gpu0-gpu1");
  expect_value_error(link({"gpu0", "gpu1", 1e9, 0, 0}), "lanes, got 0");
  expect_value_error(spec(two, {}, {{"gpu0", "gpu1", 1e9}, {"gpu1", "gpu0", 1e9}}), "there twice");
  expect_value_error(spec({{"gpu0", -5}}, {}, {}), "reduce_bandwidth of gpu0");
  expect_value_error(spec({{"gpu0"}}, {{"s", 0}}, {}), "bandwidth of switch s");
  expect_value_error(spec({{"gpu0", kUnlimited, {0}}}, {}, {}), "the flops of gpu0 must be from 1");
  expect_value_error(spec({{"gpu0", kUnlimited, {1e12, 1e19}}}, {}, {}), "the memory bandwidth of gpu0 must be from 1");
  expect_value_error(spec({{"gpu0", kUnlimited, {1e12, 1e9, -1}}}, {}, {}), "the launch of gpu0 must be from 0");
}

TEST(Topology, FramesTakeAPartOfTheBandwidth) {
  LinkSpec link{"gpu0", "gpu1", 1e9, 0, 2};
  link.framing = {.payload = 3000, .overhead = 1000};
  const Topology topology({.name = "", .devices = {{"gpu0"}, {"gpu1"}}, .links = {link}});
  EXPECT_DOUBLE_EQ(topology.route(0, 1).bandwidth, 1.5e9);
  ASSERT_EQ(topology.resources().size(), 2u);
  for (const Resource& direction : topology.resources()) EXPECT_DOUBLE_EQ(direction.wire_bytes, 4. / 3);
}

TEST(Topology, ImpossibleFrames) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const Framing framing : {Framing{0, 1}, Framing{-1, 1}, Framing{1, -1}, Framing{kNan, 1}, Framing{1, kNan},
                                Framing{2e9, 1}, Framing{1, 2e9}}) {
    LinkSpec link{"gpu0", "gpu1", 1e9};
    link.framing = framing;
    expect_value_error(
        [&] {
          Topology({.name = "", .devices = {{"gpu0"}, {"gpu1"}}, .links = {link}});
        },
        "a frame of link gpu0-gpu1 must have from 1");
  }
}

TEST(Topology, UnknownDevicesAreAnsweredWithTheKnownOnes) {
  expect_value_error([] { loaded("pcie4")->find_device("gpu9"); }, "no device 'gpu9'; it has cpu0, gpu0, gpu1");
  expect_value_error([] { loaded("pcie4")->find_device("switch"); }, "no device 'switch'");
}

TEST(Presets, Pcie4IsAStarOfFullDuplexLinks) {
  const TopologyPtr topology = loaded("pcie4");
  EXPECT_EQ(topology->gpus().size(), 4u);
  for (int from = 0; from < 5; ++from)
    for (int to = 0; to < 5; ++to) {
      if (from == to) continue;
      EXPECT_EQ(topology->route(from, to).bandwidth, 16e9);
      EXPECT_EQ(topology->route(from, to).resources.size(), 2u);
    }
}

TEST(Presets, StarsHaveTheDevicesAsked) {
  const std::string names[] = {"cpu3", "gpu1"};
  const Topology star(star_topology(names));
  EXPECT_EQ(star.device_count(), 2);
  EXPECT_EQ(star.device_name(0), "cpu3");
  EXPECT_EQ(star.device(1), (Device{DeviceType::kGpu, 1}));
  EXPECT_EQ(star.route(0, 1).vertices.size(), 3u);
}

TEST(Presets, SixNvlinksEndAtEachGpuOfAP3) {
  const TopologyPtr topology = loaded("p3");
  std::map<std::string, int> lanes;
  for (const LinkSpec& link : topology->spec().links)
    if (link.from.starts_with("gpu") && link.to.starts_with("gpu")) {
      EXPECT_EQ(link.bandwidth, 18e9);
      lanes[link.from] += link.lanes;
      lanes[link.to] += link.lanes;
    }
  EXPECT_EQ(lanes.size(), 8u);
  for (const auto& [name, count] : lanes) EXPECT_EQ(count, 6) << name;
  EXPECT_EQ(names(*topology, route_between(*topology, "gpu0", "gpu3")), (Names{"gpu0", "gpu3"}));
  EXPECT_EQ(route_between(*topology, "gpu0", "gpu3").bandwidth, 36e9);
  EXPECT_EQ(names(*topology, route_between(*topology, "gpu0", "gpu5")),
            (Names{"gpu0", "pcie0", "socket0", "socket1", "pcie2", "gpu5"}));
}

TEST(Presets, DevicesComputeAsTheirMachines) {
  const auto rates = [](const char* preset, const char* device) {
    const TopologyPtr topology = loaded(preset);
    return topology->spec().devices[topology->find_device(device)].rates;
  };
  EXPECT_EQ(rates("p3", "gpu7").flops, 15.7e12);
  EXPECT_EQ(rates("p3", "gpu7").bandwidth, 900e9);
  EXPECT_EQ(rates("pcie4", "gpu0").flops, 8.1e12);
  EXPECT_EQ(rates("pcie4", "gpu3"), rates("ethernet:4x10", "node3/gpu0"));
  EXPECT_EQ(rates("pcie4", "cpu0"), rates("ethernet:4x10", "node1/cpu0"));
  for (const char* preset : {"pcie4", "p3", "ethernet:2x10"}) {
    const TopologyPtr topology = loaded(preset);
    for (const DeviceSpec& device : topology->spec().devices) {
      EXPECT_LT(device.rates.flops, 1e14) << device.name;
      EXPECT_LT(device.rates.bandwidth, 1e12) << device.name;
      EXPECT_GT(device.rates.launch, 0) << device.name;
    }
  }
}

TEST(Presets, EthernetJoinsNodes) {
  const TopologyPtr topology = loaded("ethernet:3x100x2");
  EXPECT_EQ(topology->name(), "ethernet:3x100x2");
  EXPECT_EQ(topology->gpus().size(), 6u);
  EXPECT_EQ(topology->hosts().size(), 3u);
  const double payload = 1448 / 1538.;  // of a frame, what is no header or gap
  EXPECT_DOUBLE_EQ(route_between(*topology, "node0/gpu0", "node2/gpu1").bandwidth, payload * 12.5e9);
  EXPECT_EQ(route_between(*topology, "node0/gpu0", "node0/gpu1").bandwidth, 16e9);
  EXPECT_EQ(loaded("ethernet:8x10")->gpus().size(), 8u);
  EXPECT_DOUBLE_EQ(route_between(*loaded("ethernet:2x2.5"), "node0/cpu0", "node1/cpu0").bandwidth, payload * 2.5e9 / 8);
}

TEST(Presets, ImpossibleEthernets) {
  for (const char* text :
       {"ethernet", "ethernet:", "ethernet:8", "ethernet:8x", "ethernet:0x10", "ethernet:-1x10", "ethernet:8x0",
        "ethernet:8x-1", "ethernet:8xnan", "ethernet:8x10x0", "ethernet:8x10x1x1", "ethernet:8x10 "})
    expect_value_error([&] { load_topology(text); }, "must be ethernet:NODESxGBITS");
  expect_value_error([] { load_topology("ethernet:100000x10"); }, "at most 2048 devices");
  expect_value_error([] { load_topology("ethernet:2x10x2147483647"); }, "at most 2048 devices");
  expect_value_error([] { load_topology("ethernet:8xinf"); }, "got inf");
}

TEST(TopologyFile, AMissingFileNamesThePresets) {
  try {
    load_topology("/no/such/file.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOs);
    EXPECT_NE(std::string(error.what()).find("neither a preset (pcieN, p3, ethernet:"), std::string::npos);
  }
  for (const char* path : {"/", "/dev/zero"}) {
    try {
      load_topology(path);
      ADD_FAILURE() << path << " was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOs);
      EXPECT_NE(std::string(error.what()).find("it is not a regular file"), std::string::npos);
    }
  }
}

TEST(TopologyFile, ErrorsNameTheFile) {
  const std::string path = own_path("topology.json");
  const auto expect_refusal = [&](const char* text, const std::string& part) {
    std::ofstream(path) << text;
    expect_value_error([&] { load_topology(path); }, part);
  };
  expect_refusal("", path + ": topology file: this is no JSON: there is nothing in it");
  expect_refusal(" \n", path + ": topology file: this is no JSON: there is nothing in it");
  expect_refusal("{", path + ": topology file: this is no JSON");
  expect_refusal(R"({"devices": [{"name": "tpu0"}]})", path + ": topology: 'tpu0' is no name of a device");
  std::filesystem::remove(path);
}

TEST(TopologyFile, ReadsWhatItWrites) {
  for (const char* name : {"pcie4", "p3", "ethernet:2x10"}) {
    const std::string text = write_topology(loaded(name)->spec());
    EXPECT_EQ(write_topology(read_topology(text)), text);
    EXPECT_NO_THROW(Topology(read_topology(text)));
  }
  const TopologySpec spec{"all \"fields\"",
                          {{"gpu0", 5e11, {1e13, 9e11, 2e-6}}, {"gpu1", kUnlimited, {.bandwidth = 1e11}}},
                          {{"s", 3e10}},
                          {{"gpu0", "s", 1e9, 1e-6, 2, Duplex::kShared, {1448, 90}}, {"s", "gpu1", 2e9}}};
  const std::string text = write_topology(spec);
  EXPECT_EQ(write_topology(read_topology(text)), text);
  EXPECT_EQ(read_topology(text).links[0].duplex, Duplex::kShared);
  EXPECT_EQ(read_topology(text).links[0].framing, spec.links[0].framing);
  EXPECT_EQ(read_topology(text).links[1].framing, Framing());
  EXPECT_EQ(read_topology(text).devices[0].reduce_bandwidth, 5e11);
  EXPECT_EQ(read_topology(text).devices[0].rates, spec.devices[0].rates);
  EXPECT_EQ(read_topology(text).devices[1].rates, spec.devices[1].rates);
  EXPECT_EQ(read_topology(text).switches[0].bandwidth, 3e10);
}

TEST(TopologyFile, DefaultsOfFields) {
  const TopologySpec spec = read_topology(
      R"({"devices": [{"name": "gpu0"}, {"name": "gpu1"}], "links": [{"between": ["gpu0", "gpu1"], "bandwidth": 16e9}]})");
  EXPECT_EQ(spec.name, "custom");
  EXPECT_EQ(spec.devices[0].rates, DeviceRates());
  EXPECT_EQ(spec.links[0].latency, 0);
  EXPECT_EQ(spec.links[0].lanes, 1);
  EXPECT_EQ(spec.links[0].duplex, Duplex::kFull);
}

TEST(TopologyFile, MalformedTexts) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "this is no JSON"},
      {"{\"devices\": [}", "this is no JSON"},
      {"[1]", "the topology must be an object, got array"},
      {"{}", "the topology has no 'devices'"},
      {R"({"devices": 3})", "'devices' of the topology must be a list, got 3"},
      {R"({"devices": [], "speed": 1})", "the topology has an unknown field 'speed'; known are name, devices"},
      {R"({"devices": [{"name": "gpu0"}], "devices": []})", "the field 'devices' is there twice in one object"},
      {R"({"devices": [{"name": "gpu0", "rates": {"flops": 1, "flops": 2}}]})", "the field 'flops' is there twice"},
      {R"({"devices": ["gpu0"]})", "device 0 must be an object, got \"gpu0\""},
      {R"({"devices": [{"name": "gpu0"}, {"name": 1}]})", "'name' of device 1 must be a string, got 1"},
      {R"({"devices": [{"name": "gpu0", "memory": 1}]})", "device 0 has an unknown field 'memory'"},
      {R"({"devices": [{"name": "gpu0", "rates": 5}]})", "'rates' of device 0 must be an object, got 5"},
      {R"({"devices": [{"name": "gpu0", "rates": {"flop": 5}}]})",
       "'rates' of device 0 has an unknown field 'flop'; known are flops, bandwidth, launch"},
      {R"({"devices": [{"name": "gpu0", "rates": {"launch": "1us"}}]})",
       "'launch' of 'rates' of device 0 must be a number, got \"1us\""},
      {R"({"devices": [], "switches": [{"bandwidth": 1}]})", "switch 0 has no 'name'"},
      {R"({"devices": [], "links": [{"between": ["gpu0"], "bandwidth": 1}]})", "'between' of link 0 must be two names"},
      {R"({"devices": [], "links": [{"between": ["a", "b"]}]})", "link 0 has no 'bandwidth'"},
      {R"({"devices": [], "links": [{"between": ["a", "b"], "bandwidth": "16GB"}]})",
       "'bandwidth' of link 0 must be a number, got \"16GB\""},
      {R"({"devices": [], "links": [{"between": ["a", "b"], "bandwidth": 1, "lanes": 1.5}]})",
       "'lanes' of link 0 must be a whole number, got 1.5"},
      {R"({"devices": [], "links": [{"between": ["a", "b"], "bandwidth": 1, "frame": 1538}]})",
       "'frame' of link 0 must be an object, got 1538"},
      {R"({"devices": [], "links": [{"between": ["a", "b"], "bandwidth": 1, "frame": {"payload": 1448}}]})",
       "'frame' of link 0 has no 'overhead'"},
      {R"({"devices": [], "links": [{"between": ["a", "b"], "bandwidth": 1, "duplex": "half"}]})",
       "'duplex' of link 0 must be 'full' or 'shared', got 'half'"},
  };
  for (const auto& [text, part] : cases) expect_value_error([&] { read_topology(text); }, part);
}

// No text makes reading do anything but succeed or raise an Error.
TEST(TopologyFile, DamagedTextsAreErrorsOrTopologies) {
  const std::string good = write_topology(loaded("pcie4")->spec());
  std::mt19937_64 random(7);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    for (uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      const size_t at = random() % text.size();
      if (random() % 2)
        text[at] = static_cast<char>(random() % 256);
      else
        text.erase(at, 1 + random() % 20);
      if (text.empty()) break;
    }
    try {
      Topology(read_topology(text));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kValue);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  const std::string deep(100000, '[');
  expect_value_error([&] { read_topology(deep); }, "no JSON");
}

}  // namespace
}  // namespace headrace
