// The library of the wire over MPI (src/collective/mpi/), which is loaded where a launcher of MPI has started the
// process: others need no MPI.
#pragma once

#include <cstdint>
#include <memory>

#include "collective/wire.h"

namespace headrace::collective {

// Changes with every change of what the library implements.
inline constexpr uint32_t kMpiInterface = 2;

struct MpiLibrary {
  uint32_t interface = kMpiInterface;
  // Waits until all processes of the job have come here. The wire is for the thread that calls it, which destroys it,
  // too. Raises RuntimeError when MPI cannot begin.
  std::unique_ptr<Wire> (*open)() = nullptr;
};

inline constexpr const char* kMpiLibraryFunction = "headrace_mpi";

// Whether a launcher such as mpirun or srun has started this process.
bool is_started_by_mpi();
// Raises OSError when it is not there, or lacks MPI: names the package.
const MpiLibrary& mpi_library();

}  // namespace headrace::collective
