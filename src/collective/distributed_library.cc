#include "collective/distributed_library.h"

#include <cstdlib>

#include "base/check.h"
#include "collective/library_table.h"

namespace headrace::collective {
namespace {

constexpr const char* kDistributedFile = "libheadrace_distributed.so";

const DistributedLibrary& load_distributed() {
  const OwnLibrary loaded = load_own_library(kDistributedFile, kDistributedLibraryFunction);
  check(loaded.symbol != nullptr, ErrorKind::kOs,
        "distributed: what processes share by servers is in {}, which cannot be loaded: {}; build Headrace with "
        "HEADRACE_DISTRIBUTED=ON",
        kDistributedFile, loaded.why);
  return table_of<DistributedLibrary>(loaded, kDistributedFile);
}

}  // namespace

const DistributedLibrary& distributed_library() {
  static const DistributedLibrary& known = load_distributed();
  return known;
}

}  // namespace headrace::collective

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

void serve(ServerProgram& program) { collective::distributed_library().serve(program); }

}  // namespace headrace::distributed
