// The kinds of stores, and create().

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "base/check.h"
#include "base/spin_lock.h"
#include "collective/distributed_library.h"
#include "collective/mpi_library.h"
#include "collective/process_group.h"
#include "engine/runtime.h"
#include "headrace/communicator.hpp"
#include "kvstore/collective_communicator.h"
#include "kvstore/mxnet_variables.h"
#include "kvstore/sharing.h"

namespace headrace::kvstore {
namespace {

using StorePtr = std::unique_ptr<KVStore>;

constexpr const char* kCollectiveKind = "mpi";
constexpr const char* kSharingKind = "mpi_sharded";  // whose ranks share updates

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& letter : made)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return made;
}

bool says(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

// Of the name of a store on servers, as in MXNet: "distasync" is synchronous.
bool updates_at_once(std::string_view name) { return says(name, "_async"); }

StorePtr make_local(const std::string& name, const Options& options) {
  check(options.strategy.empty() && options.topology.empty(), ErrorKind::kValue,
        "kvstore create: a '{}' store sums in host memory and follows no plan; strategy and topology are options of "
        "'device' stores",
        name);
  return make_store(name, make_host_communicator());
}

StorePtr make_device(const std::string& name, const Options& options) {
  return make_store(name, make_device_communicator(options));
}

StorePtr make_collective(const std::string& name, const Options& options) {
  return make_store(name, make_collective_communicator(collective::process_group(), make_device_communicator(options),
                                                       name == kSharingKind));
}

// Whether processes that share a store have no servers.
bool has_no_servers() {
  return distributed::role_of_process() == distributed::Role::kNone && collective::is_started_by_mpi();
}

constexpr const char* kWhatP3Is = "sends what is needed first, which every store does here: 'dist_sync' is its name";

StorePtr make_remote(const std::string& name, const Options& options) {
  const char* const van = std::getenv("DMLC_PS_VAN_TYPE");
  check(!van || lower(van) != "p3", ErrorKind::kValue,
        "kvstore create: DMLC_PS_VAN_TYPE=p3 asks for a '{}' store that {}, without the variable", name, kWhatP3Is);
  const bool is_asynchronous = updates_at_once(name) && options.staleness != 0;
  if (has_no_servers()) {
    check(!is_asynchronous, ErrorKind::kValue,
          "kvstore create: a '{}' store needs servers, which mpirun and srun do not start; start the program with "
          "`python -m headrace.launch -n 2 -s 1 python PROGRAM.py`, or create an 'mpi' store",
          name);
    return make_collective(name, options);
  }
  check(options.strategy.empty() && options.topology.empty(), ErrorKind::kValue,
        "kvstore create: a '{}' store sums on its servers; strategy and topology are options of 'device' stores", name);
  return collective::distributed_library().make_store(
      name, {.asynchronous = is_asynchronous, .staleness = options.staleness, .on_devices = says(name, "device")});
}

struct NamedCapability {
  std::string_view name;
  Capability capability;
};

constexpr NamedCapability kCapabilities[] = {
    {"optimizer", Capability::kOptimizer},
    {"compression", Capability::kCompression},
    {"asynchronous", Capability::kAsynchronous},
    {"distributed", Capability::kDistributed},
};

Kind remote_kind(const std::string& name) {
  Kind kind{name,
            "sums on servers what all workers have pushed",
            make_remote,
            {Capability::kOptimizer, Capability::kCompression, Capability::kDistributed}};
  if (updates_at_once(name)) {
    kind.meaning = "updates on servers with each push";
    kind.capabilities.push_back(Capability::kAsynchronous);
  }
  return kind;
}

bool is_remote(const Kind& kind) {
  const auto* const make = kind.make.target<decltype(&make_remote)>();
  return make && *make == make_remote;
}

class Registry {
 public:
  Registry() {
    const std::vector<Capability> on_host{Capability::kOptimizer};
    const std::vector<Capability> on_devices{Capability::kOptimizer, Capability::kCompression};
    kinds_ = {
        {"local", "sums in host memory", make_local, on_host},
        {"local_allreduce_cpu", "the same", make_local, on_host},
        {"device", "sums between the devices, by NCCL or a communication plan", make_device, on_devices},
        {"local_allreduce_device", "the same", make_device, on_devices},
        {"nccl", "the same", make_device, on_devices},
        {kCollectiveKind,
         "sums over the ranks: processes that mpirun or srun has started, or workers",
         make_collective,
         {Capability::kOptimizer, Capability::kCompression, Capability::kDistributed}},
        {kSharingKind,
         "the same; each rank updates its share of large arrays and keeps the state of that alone",
         make_collective,
         {Capability::kOptimizer, Capability::kCompression, Capability::kDistributed}},
    };
    for (const char* name : {"dist_sync", "dist", "dist_sync_device", "dist_device_sync", "dist_device", "dist_async",
                             "dist_device_async", "dist_async_device"})
      kinds_.push_back(remote_kind(name));
  }

  void add(Kind kind) {
    check(!kind.name.empty() && kind.make, ErrorKind::kValue,
          "kvstore register_kind: expected a kind with a name and a function that makes stores, got '{}'{}", kind.name,
          kind.make ? "" : " without one");
    std::lock_guard guard(lock_);
    check(std::ranges::find(kinds_, kind.name, &Kind::name) == kinds_.end(), ErrorKind::kValue,
          "kvstore register_kind: there is a kind '{}' already", kind.name);
    kinds_.push_back(std::move(kind));
  }

  std::vector<Kind> all() {
    std::lock_guard guard(lock_);
    return kinds_;
  }

 private:
  SpinLock lock_;
  std::vector<Kind> kinds_;  // guarded by lock_
};

// Any other name with "dist" in it is that of a store on servers, too, as in MXNet.
Kind find_kind(std::string_view name) {
  const std::string wanted = lower(name);
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) {
    if (kind.name == wanted) return kind;
    names.push_back(kind.name);
  }
  check(!says(wanted, "p3"), ErrorKind::kValue, "kvstore create: '{}' is a dist_sync store that {}", name, kWhatP3Is);
  if (says(wanted, "dist")) return remote_kind(wanted);
  fail(ErrorKind::kValue,
       "kvstore create: there is no kind '{}'; known are {}, and what has 'dist' in "
       "it",
       name, fmt::join(names, ", "));
}

}  // namespace

Capability capability_of(std::string_view name) {
  const std::string wanted = lower(name);
  std::vector<std::string_view> names;
  for (const NamedCapability& one : kCapabilities) {
    if (one.name == wanted) return one.capability;
    names.push_back(one.name);
  }
  fail(ErrorKind::kValue, "kvstore is_capable: Unknown capability: {}; known are {}", name, fmt::join(names, ", "));
}

StorePtr create(std::string_view name, const Options& options) {
  const Kind kind = find_kind(name);
  check(options.staleness < 0 || is_capable(name, Capability::kAsynchronous), ErrorKind::kValue,
        "kvstore create: staleness is an option of asynchronous stores such as 'dist_async', got it for '{}'", name);
  StorePtr store = kind.make(kind.name, options);
  check(store != nullptr, ErrorKind::kRuntime, "kvstore create: the function that makes '{}' has given none", name);
  warn_of_unheeded();
  return store;
}

bool is_capable(std::string_view name, Capability capability) {
  const Kind kind = find_kind(name);
  return std::ranges::find(kind.capabilities, capability) != kind.capabilities.end();
}

bool sums_without_servers(std::string_view name) {
  const Kind kind = find_kind(name);
  return kind.name == kCollectiveKind || kind.name == kSharingKind || (is_remote(kind) && has_no_servers());
}

void register_kind(Kind kind) { service<Registry>().add(std::move(kind)); }
std::vector<Kind> kinds() { return service<Registry>().all(); }

}  // namespace headrace::kvstore
