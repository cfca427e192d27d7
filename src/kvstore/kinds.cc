// The kinds of stores, and create().

#include <algorithm>
#include <mutex>

#include "base/check.h"
#include "base/spin_lock.h"
#include "engine/runtime.h"
#include "kvstore/communicator.h"
#include "kvstore/single_machine_store.h"

namespace headrace::kvstore {
namespace {

using StorePtr = std::unique_ptr<KVStore>;

StorePtr make_local(const std::string& name, const Options& options) {
  check(options.strategy.empty() && options.topology.empty(), ErrorKind::kValue,
        "kvstore create: a '{}' store sums in host memory and follows no plan; strategy and topology are options of "
        "'device' stores",
        name);
  return std::make_unique<SingleMachineStore>(name, make_host_communicator());
}

StorePtr make_device(const std::string& name, const Options& options) {
  return std::make_unique<SingleMachineStore>(name, make_device_communicator(options));
}

class Registry {
 public:
  Registry() {
    kinds_ = {
        {"local", "sums in host memory", make_local},
        {"local_allreduce_cpu", "the same", make_local},
        {"device", "sums between the devices, by a communication plan", make_device},
        {"local_allreduce_device", "the same", make_device},
        {"nccl", "the same: the library NCCL is not used", make_device},
    };
  }

  void add(Kind kind) {
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

}  // namespace

StorePtr create(std::string_view name, const Options& options) {
  std::string lower(name);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) {
    if (kind.name == lower) return kind.make(lower, options);
    names.push_back(kind.name);
  }
  check(lower.find("dist") == lower.npos, ErrorKind::kValue,
        "kvstore create: '{}' is a store beyond one machine, and there is none yet; the kinds of one machine are {}",
        name, fmt::join(names, ", "));
  fail(ErrorKind::kValue, "kvstore create: there is no kind '{}'; known are {}", name, fmt::join(names, ", "));
}

void register_kind(Kind kind) { service<Registry>().add(std::move(kind)); }
std::vector<Kind> kinds() { return service<Registry>().all(); }

}  // namespace headrace::kvstore
