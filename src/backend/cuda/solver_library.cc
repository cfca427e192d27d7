#include "backend/cuda/solver_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/driver.h"
#include "backend/cuda/library.h"
#include "base/config.h"
#include "base/log.h"

namespace headrace {
namespace {

constexpr int kNewestSolver = 12, kOldestSolver = 11;  // of CUDA 13 and of CUDA 12, as of each the number before it

std::vector<std::string> solver_names() {
  if (const std::string chosen = config().cuda_solver; !chosen.empty()) return {chosen};
  std::vector<std::string> names;
  for (int major = std::min(kNewestSolver, newest_cuda() - 1); major >= kOldestSolver; --major)
    names.push_back(fmt::format("libcusolver.so.{}", major));
  return names;
}

// look_up(function, name) for each of them, whose names hold the letter of the type.
template <class T, class LookUp>
void look_up_functions(SolverFunctions<T>& functions, const LookUp& look_up) {
  constexpr char kType = std::is_same_v<T, float> ? 'S' : 'D';
  const auto solver = [&](auto& function, const char* name) {
    look_up(function, fmt::format("cusolverDn{}{}", kType, name).c_str());
  };
  const auto blas = [&](auto& function, const char* name) {
    look_up(function, fmt::format("cublas{}{}", kType, name).c_str());
  };
  solver(functions.potrf_size, "potrf_bufferSize");
  solver(functions.potrf, "potrf");
  solver(functions.potrf_batched, "potrfBatched");
  solver(functions.potri_size, "potri_bufferSize");
  solver(functions.potri, "potri");
  solver(functions.getrf_size, "getrf_bufferSize");
  solver(functions.getrf, "getrf");
  solver(functions.getrs, "getrs");
  solver(functions.geqrf_size, "geqrf_bufferSize");
  solver(functions.geqrf, "geqrf");
  solver(functions.orgqr_size, "orgqr_bufferSize");
  solver(functions.orgqr, "orgqr");
  solver(functions.syevd_size, "syevd_bufferSize");
  solver(functions.syevd, "syevd");
  solver(functions.syevj_batched_size, "syevjBatched_bufferSize");
  solver(functions.syevj_batched, "syevjBatched");
  solver(functions.gesvd_size, "gesvd_bufferSize");
  solver(functions.gesvd, "gesvd");
  solver(functions.gesvdj_batched_size, "gesvdjBatched_bufferSize");
  solver(functions.gesvdj_batched, "gesvdjBatched");
  blas(functions.trsm, "trsm_v2");
  blas(functions.trsm_batched, "trsmBatched");
  blas(functions.getrf_batched, "getrfBatched");
  blas(functions.getrs_batched, "getrsBatched");
}

// None: `why` says it. Functions of cuBLAS are found in the library that cuSOLVER has loaded.
std::optional<SolverLibrary> load_solver(std::string& why) {
  void* const library = open_first_library(solver_names(), why);
  if (!library) return {};
  SolverLibrary made{};
  const auto look_up = functions_of(library, why);
  look_up(made.create, "cusolverDnCreate");
  look_up(made.set_stream, "cusolverDnSetStream");
  look_up(made.create_syevj_info, "cusolverDnCreateSyevjInfo");
  look_up(made.create_gesvdj_info, "cusolverDnCreateGesvdjInfo");
  look_up(made.create_blas, "cublasCreate_v2");
  look_up(made.set_blas_stream, "cublasSetStream_v2");
  look_up(made.set_blas_workspace, "cublasSetWorkspace_v2");
  look_up_functions(made.single, look_up);
  look_up_functions(made.wide, look_up);
  if (why.empty()) return made;
  return {};
}

}  // namespace

const SolverLibrary* solver_library() {
  static const std::optional<SolverLibrary>& loaded = *new std::optional<SolverLibrary>([] {
    std::string why;
    std::optional<SolverLibrary> made = load_solver(why);
    if (!made)
      log(LogLevel::kWarn,
          "cuda: matrices are decomposed on the host, which is slow: {}. Install NVIDIA's cuSOLVER (pip install "
          "nvidia-cusolver).",
          why);
    return made;
  }());
  return loaded ? &*loaded : nullptr;
}

}  // namespace headrace
