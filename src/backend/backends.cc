// The explicit list of backends in this build, and the libraries of others that the configuration names.
#include <sstream>
#include <string>
#include <vector>

#include "backend/cpu/host_backend.h"
#include "backend/sim/sim_machine.h"
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

std::vector<BackendEntry> make_entries() {
  std::vector<BackendEntry> entries = {
      {DeviceType::kCpu, &host_backend()},
      {DeviceType::kCpuPinned, &host_backend()},
      {DeviceType::kCpuShared, &host_backend()},
      {DeviceType::kGpu, &sim_machine()},
  };
  if (config().cuda.value_or(false)) add(entries, load_own_backends("libheadrace_cuda.so", "HEADRACE_CUDA"));
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

}  // namespace headrace
