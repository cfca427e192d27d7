// The library of jobs with servers (src/distributed/), which is loaded when a process first shares a store or an
// exchange with others of its job: what it stands on takes longer to load than all else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collective/wire.h"
#include "headrace/distributed.hpp"

namespace headrace::kvstore {
struct Sharing;
}

namespace headrace::collective {

// Changes with every change of what the library implements.
inline constexpr uint32_t kDistributedInterface = 3;

struct DistributedLibrary {
  uint32_t interface = kDistributedInterface;
  std::unique_ptr<kvstore::KVStore> (*make_store)(const std::string& type, const kvstore::Sharing& sharing) = nullptr;
  void (*serve)(distributed::ServerProgram& program) = nullptr;
  // Between the workers of the job of this process. Waits until all of them have come here. Raises RuntimeError where
  // the job has no workers that stay the same, and as make_store().
  std::unique_ptr<Wire> (*open_wire)() = nullptr;
};

inline constexpr const char* kDistributedLibraryFunction = "headrace_distributed";

// Raises OSError when it is not there: this build was made without it.
const DistributedLibrary& distributed_library();

}  // namespace headrace::collective
