#include "collective/mpi_library.h"

#include <cstdlib>

#include "base/check.h"
#include "collective/library_table.h"

namespace headrace::collective {
namespace {

constexpr const char* kFile = "libheadrace_mpi.so";

const MpiLibrary& load() {
  const OwnLibrary loaded = load_own_library(kFile, kMpiLibraryFunction);
  check(loaded.symbol != nullptr, ErrorKind::kOs,
        "distributed: sums over processes that mpirun or srun has started need {}, which cannot be loaded: {}; install "
        "Open MPI 4.1 (Debian: apt install openmpi-bin), or build Headrace where its headers are (libopenmpi-dev)",
        kFile, loaded.why);
  return table_of<MpiLibrary>(loaded, kFile);
}

}  // namespace

bool is_started_by_mpi() {
  // Of Open MPI's mpirun; of srun and others, by way of PMIx and PMI.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(variable)) return true;
  return false;
}

const MpiLibrary& mpi_library() {
  static const MpiLibrary& known = load();
  return known;
}

}  // namespace headrace::collective
