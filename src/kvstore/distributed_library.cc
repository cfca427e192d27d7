#include "kvstore/distributed_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "base/check.h"

namespace headrace::kvstore {
namespace {

constexpr const char* kFile = "libheadrace_distributed.so";

// Beside the library that this is part of.
std::string place_of_library() {
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&distributed_library), &own) == 0) return kFile;
  return (std::filesystem::path(own.dli_fname).parent_path() / kFile).string();
}

// It stays: its threads may be inside until the process ends.
const DistributedLibrary& load() {
  void* const library = dlopen(place_of_library().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const char* const why = library ? nullptr : dlerror();
  check(library != nullptr, ErrorKind::kOs,
        "distributed: stores over several processes are in {}, which cannot be loaded: {}; build Headrace with "
        "HEADRACE_DISTRIBUTED=ON",
        kFile, why ? why : "no reason was given");
  const auto get = reinterpret_cast<DistributedLibraryFunction>(dlsym(library, kDistributedLibraryFunction));
  check(get != nullptr && get()->interface == kDistributedInterface, ErrorKind::kOs,
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
