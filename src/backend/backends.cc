// The explicit list of backends in this build, and the libraries of others that the configuration names.
#include <dlfcn.h>

#include <sstream>
#include <string>
#include <vector>

#include "backend/cpu/host_backend.h"
#include "backend/sim/sim_machine.h"
#include "base/check.h"
#include "base/config.h"
#include "device/plugin.h"
#include "device/registry.h"

namespace headrace {
namespace {

// What a library serves takes the place of what is built in.
void add(std::vector<BackendEntry>& entries, std::span<const BackendEntry> loaded) {
  for (const BackendEntry& entry : loaded) {
    std::erase_if(entries, [&](const BackendEntry& known) { return known.type == entry.type; });
    entries.push_back(entry);
  }
}

bool asks_for_simulated_gpus(const Config& c) {
  return c.sim_gpus > 0 || !c.sim_topology.empty() || c.sim_virtual_clock || c.sim_strict;
}

bool has_nvidia_driver() { return dlopen(config().cuda_driver.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr; }

struct Gpus {
  std::span<const BackendEntry> entries = {};
  std::string why_unused = {};  // although the driver is there
};

// NVIDIA's: where the configuration says so, or says nothing, asks for no simulated ones, and the driver is there. The
// driver is not asked anything here, so a process that uses no GPU can still be forked.
const Gpus& nvidia_gpus() {
  static const Gpus& found = *new Gpus([]() -> Gpus {
    const bool is_asked_for = config().cuda.value_or(false);
    if (!is_asked_for && (config().cuda || asks_for_simulated_gpus(config()) || !has_nvidia_driver())) return {};
    std::string why;
    const std::span<const BackendEntry> entries = find_own_backends("libheadrace_cuda.so", why);
    check(!is_asked_for || why.empty(), ErrorKind::kOs, "HEADRACE_CUDA: {}", why);
    return {entries, why.empty() ? "" : "NVIDIA's driver is there, but " + why};
  }());
  return found;
}

std::vector<BackendEntry> make_entries() {
  std::vector<BackendEntry> entries = {
      {DeviceType::kCpu, &host_backend()},
      {DeviceType::kCpuPinned, &host_backend()},
      {DeviceType::kCpuShared, &host_backend()},
      {DeviceType::kGpu, &sim_machine()},
  };
  add(entries, nvidia_gpus().entries);
  std::istringstream paths(config().backends);
  for (std::string path; std::getline(paths, path, ':');)
    if (!path.empty()) add(entries, load_backends(path.c_str()));
  return entries;
}

}  // namespace

std::span<const BackendEntry> all_backends() {
  static const auto& entries = *new std::vector<BackendEntry>(make_entries());  // tasks may run at exit
  return entries;
}

const std::string& why_gpus_are_unused() { return nvidia_gpus().why_unused; }

}  // namespace headrace
