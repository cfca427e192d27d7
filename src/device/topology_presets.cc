#include <charconv>

#include "base/check.h"
#include "device/topology.h"

namespace headrace {
namespace {

constexpr double kPcieBandwidth = 16e9;    // PCIe 3.0 x16, each direction
constexpr double kPcieLatency = 1e-6;      // of one hop
constexpr double kNvlinkBandwidth = 18e9;  // one lane of a link, each direction: 300 Gb/s both ways
constexpr double kNvlinkLatency = 1e-6;
constexpr double kSocketBandwidth = 19.2e9;  // one QPI of 9.6 GT/s, each direction
constexpr double kSocketLatency = 0.5e-6;
constexpr double kNetworkLatency = 10e-6;  // half of the way: from a node to the network's switch
// Of 1500 bytes TCP over IPv4 with timestamps leaves 1448; around them come the header of 14, a checksum of 4, and 20
// of preamble and gap.
constexpr Framing kNetworkFraming{.payload = 1448, .overhead = 52 + 14 + 4 + 20};

// Float32 rates from the data sheets. Between two short kernels of one stream a V100 takes 0.9 us (NVIDIA's "Getting
// Started with CUDA Graphs": 3.8 us from one to the next, of which the kernel has 2.9); others are taken to be alike.
constexpr double kKernelLaunch = 0.9e-6;
constexpr DeviceRates kV100{15.7e12, 900e9, kKernelLaunch};  // Tesla V100 SXM2
constexpr DeviceRates kT4{8.1e12, 320e9, kKernelLaunch};     // Tesla T4
// CPUs: cores x GHz x 2 FMA units x floats of a vector x 2, and memory channels x 8 bytes x MT/s. Handing an operation
// to a thread that spins takes 0.15 us (docs/engine.md).
constexpr double kTaskLaunch = 0.15e-6;
constexpr DeviceRates kBroadwell{16 * 2.3e9 * 32, 4 * 8 * 2.4e9, kTaskLaunch};  // a socket of p3.16xlarge: E5-2686 v4
constexpr DeviceRates kCascadeLake{24 * 2.5e9 * 64, 6 * 8 * 2.933e9, kTaskLaunch};  // g4dn.12xlarge: Platinum 8259CL

struct Nvlink {
  int a, b, lanes;
};

// The cube mesh of eight V100: six lanes end at each GPU. The double links are a ring through all of them, and so are
// the single ones.
constexpr Nvlink kCubeMesh[] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
                                {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};

std::optional<TopologySpec> p3(std::string_view text) {
  if (text != "p3") return std::nullopt;
  TopologySpec spec;
  for (int socket = 0; socket < 2; ++socket) {
    spec.devices.push_back({fmt::format("cpu{}", socket), kUnlimited, kBroadwell});
    spec.switches.push_back({fmt::format("socket{}", socket)});
    spec.links.push_back({fmt::format("cpu{}", socket), fmt::format("socket{}", socket), 2 * kSocketBandwidth});
  }
  spec.links.push_back({"socket0", "socket1", kSocketBandwidth, kSocketLatency, 2});
  for (int pair = 0; pair < 4; ++pair) {
    const std::string name = fmt::format("pcie{}", pair);
    spec.switches.push_back({name});
    spec.links.push_back({name, fmt::format("socket{}", pair / 2), kPcieBandwidth, kPcieLatency});
  }
  for (int gpu = 0; gpu < 8; ++gpu) {
    spec.devices.push_back({fmt::format("gpu{}", gpu), kUnlimited, kV100});
    spec.links.push_back({fmt::format("gpu{}", gpu), fmt::format("pcie{}", gpu / 2), kPcieBandwidth, kPcieLatency});
  }
  for (const Nvlink& link : kCubeMesh)
    spec.links.push_back(
        {fmt::format("gpu{}", link.a), fmt::format("gpu{}", link.b), kNvlinkBandwidth, kNvlinkLatency, link.lanes});
  return spec;
}

// Takes digits, with a fraction if `Number` has one, from the front of a text; false where there are none.
template <class Number>
bool take_number(std::string_view& text, Number& value) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc()) return false;
  text.remove_prefix(end - text.data());
  return true;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<TopologySpec> pcie(std::string_view text) {
  std::string_view rest = text;
  int gpus = 0;
  if (!take(rest, "pcie") || !take_number(rest, gpus) || !rest.empty()) return std::nullopt;
  check(gpus >= 1 && gpus < kMostDevices, ErrorKind::kValue, "topology: '{}' has {} GPUs; from 1 to {} are possible",
        text, gpus, kMostDevices - 1);
  std::vector<std::string> devices{"cpu0"};
  for (int i = 0; i < gpus; ++i) devices.push_back(fmt::format("gpu{}", i));
  return star_topology(devices);
}

std::optional<TopologySpec> ethernet(std::string_view text) {
  std::string_view rest = text;
  if (!take(rest, "ethernet")) return std::nullopt;
  int nodes = 0, gpus = 1;
  double gigabits = 0;
  bool good = take(rest, ":") && take_number(rest, nodes) && take(rest, "x") && take_number(rest, gigabits);
  if (good && take(rest, "x")) good = take_number(rest, gpus);
  good = good && rest.empty() && nodes >= 1 && gigabits > 0 && gpus >= 1;
  check(good, ErrorKind::kValue,
        "topology: '{}' must be ethernet:NODESxGBITS or ethernet:NODESxGBITSxGPUS; ethernet:8x10 is eight nodes with "
        "one GPU each over 10 Gb/s",
        text);
  check(nodes <= kMostDevices && gpus < kMostDevices && nodes * (gpus + 1) <= kMostDevices, ErrorKind::kValue,
        "topology: '{}' has {} nodes with a CPU and {} GPUs each; at most {} devices are possible", text, nodes, gpus,
        kMostDevices);
  TopologySpec spec;
  spec.switches = {{"network"}};
  for (int node = 0; node < nodes; ++node) {
    const std::string hub = fmt::format("node{}/pcie", node);
    spec.switches.push_back({hub});
    spec.links.push_back({.from = hub,
                          .to = "network",
                          .bandwidth = gigabits * 1e9 / 8,
                          .latency = kNetworkLatency,
                          .framing = kNetworkFraming});
    for (int i = -1; i < gpus; ++i) {
      const std::string name = i < 0 ? fmt::format("node{}/cpu0", node) : fmt::format("node{}/gpu{}", node, i);
      spec.devices.push_back({name, kUnlimited, i < 0 ? kCascadeLake : kT4});
      spec.links.push_back({name, hub, kPcieBandwidth, kPcieLatency});
    }
  }
  return spec;
}

constexpr Preset kPresets[] = {
    {"pcieN", "N GPUs and the CPU on one PCIe switch, 16 GB/s each way; pcie4 is the book's machine", pcie},
    {"p3", "eight GPUs with six NVLinks of 18 GB/s each (DGX-1, p3.16xlarge), PCIe, two CPU sockets", p3},
    {"ethernet:NODESxGBITS[xGPUS]", "machines with a CPU and GPUS GPUs (1) each, joined by Ethernet of GBITS Gb/s",
     ethernet}};

}  // namespace

TopologySpec star_topology(std::span<const std::string> devices) {
  TopologySpec spec{.name = "one switch", .switches = {{"switch"}}};
  for (const std::string& name : devices) {
    spec.devices.push_back({name, kUnlimited, name.starts_with("cpu") ? kCascadeLake : kT4});
    spec.links.push_back({name, "switch", kPcieBandwidth, kPcieLatency});
  }
  return spec;
}

std::span<const Preset> topology_presets() { return kPresets; }

}  // namespace headrace
