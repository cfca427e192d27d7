#include "kvstore/distributed_library.h"

#include <cstdlib>

#include "base/check.h"
#include "base/own_library.h"

namespace headrace::kvstore {
namespace {

constexpr const char* kFile = "libheadrace_distributed.so";

const DistributedLibrary& load() {
  const OwnLibrary loaded = load_own_library(kFile, kDistributedLibraryFunction);
  check(loaded.symbol != nullptr, ErrorKind::kOs,
        "distributed: stores over several processes are in {}, which cannot be loaded: {}; build Headrace with "
        "HEADRACE_DISTRIBUTED=ON",
        kFile, loaded.why);
  const auto get = reinterpret_cast<DistributedLibraryFunction>(loaded.symbol);
  check(get()->interface == kDistributedInterface, ErrorKind::kOs,
        "distributed: {} was built from other sources than this library; build both together", kFile);
  return *get();
}

}  // namespace

const DistributedLibrary& distributed_library() {
  static const DistributedLibrary& known = load();
  return known;
}

}  // namespace headrace::kvstore

namespace headrace::distributed {

Role role_of_process() {
  const char* const text = std::getenv("DMLC_ROLE");
  const std::string_view role = text ? text : "";
  if (role.empty()) return Role::kNone;
  if (role == "worker") return Role::kWorker;
  if (role == "server") return Role::kServer;
  if (role == "scheduler") return Role::kScheduler;
  fail(ErrorKind::kValue, "distributed: DMLC_ROLE is worker, server or scheduler, got '{}'", role);
}

void serve(ServerProgram& program) { kvstore::distributed_library().serve(program); }

}  // namespace headrace::distributed
