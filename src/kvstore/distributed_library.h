// The library of stores over several processes (src/distributed/), which is loaded when the first of them is made: what
// it stands on takes longer to load than all else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "headrace/distributed.hpp"

namespace headrace::kvstore {

// Changes with every change of what the library implements.
inline constexpr uint32_t kDistributedInterface = 2;

// How the processes of a job share a store.
struct Sharing {
  bool asynchronous = false;
  int staleness = -1;  // of an asynchronous one; below 0: any
  bool on_devices = false;
};

struct DistributedLibrary {
  uint32_t interface = kDistributedInterface;
  std::unique_ptr<KVStore> (*make_store)(const std::string& type, const Sharing& sharing) = nullptr;
  void (*serve)(distributed::ServerProgram& program) = nullptr;
};

inline constexpr const char* kDistributedLibraryFunction = "headrace_distributed";
using DistributedLibraryFunction = const DistributedLibrary* (*)();

// Raises OSError when it is not there: this build was made without it.
const DistributedLibrary& distributed_library();

}  // namespace headrace::kvstore
