// cuSOLVER's dense functions, and those of cuBLAS, which it needs itself, that go with them. Only where their headers
// are (cmake/cuda.cmake).
#pragma once

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <type_traits>

namespace headrace {

// Those of a type of elements, float or double.
template <class T>
struct SolverFunctions {
  template <class Single, class Double>
  using OfType = std::conditional_t<std::is_same_v<T, float>, Single, Double>;

  OfType<decltype(&cusolverDnSpotrf_bufferSize), decltype(&cusolverDnDpotrf_bufferSize)> potrf_size;
  OfType<decltype(&cusolverDnSpotrf), decltype(&cusolverDnDpotrf)> potrf;
  OfType<decltype(&cusolverDnSpotrfBatched), decltype(&cusolverDnDpotrfBatched)> potrf_batched;
  OfType<decltype(&cusolverDnSpotri_bufferSize), decltype(&cusolverDnDpotri_bufferSize)> potri_size;
  OfType<decltype(&cusolverDnSpotri), decltype(&cusolverDnDpotri)> potri;
  OfType<decltype(&cusolverDnSgetrf_bufferSize), decltype(&cusolverDnDgetrf_bufferSize)> getrf_size;
  OfType<decltype(&cusolverDnSgetrf), decltype(&cusolverDnDgetrf)> getrf;
  OfType<decltype(&cusolverDnSgetrs), decltype(&cusolverDnDgetrs)> getrs;
  OfType<decltype(&cusolverDnSgeqrf_bufferSize), decltype(&cusolverDnDgeqrf_bufferSize)> geqrf_size;
  OfType<decltype(&cusolverDnSgeqrf), decltype(&cusolverDnDgeqrf)> geqrf;
  OfType<decltype(&cusolverDnSorgqr_bufferSize), decltype(&cusolverDnDorgqr_bufferSize)> orgqr_size;
  OfType<decltype(&cusolverDnSorgqr), decltype(&cusolverDnDorgqr)> orgqr;
  OfType<decltype(&cusolverDnSsyevd_bufferSize), decltype(&cusolverDnDsyevd_bufferSize)> syevd_size;
  OfType<decltype(&cusolverDnSsyevd), decltype(&cusolverDnDsyevd)> syevd;
  OfType<decltype(&cusolverDnSsyevjBatched_bufferSize), decltype(&cusolverDnDsyevjBatched_bufferSize)>
      syevj_batched_size;
  OfType<decltype(&cusolverDnSsyevjBatched), decltype(&cusolverDnDsyevjBatched)> syevj_batched;
  OfType<decltype(&cusolverDnSgesvd_bufferSize), decltype(&cusolverDnDgesvd_bufferSize)> gesvd_size;
  OfType<decltype(&cusolverDnSgesvd), decltype(&cusolverDnDgesvd)> gesvd;
  OfType<decltype(&cusolverDnSgesvdjBatched_bufferSize), decltype(&cusolverDnDgesvdjBatched_bufferSize)>
      gesvdj_batched_size;
  OfType<decltype(&cusolverDnSgesvdjBatched), decltype(&cusolverDnDgesvdjBatched)> gesvdj_batched;
  OfType<decltype(&cublasStrsm), decltype(&cublasDtrsm)> trsm;
  OfType<decltype(&cublasStrsmBatched), decltype(&cublasDtrsmBatched)> trsm_batched;
  OfType<decltype(&cublasSgetrfBatched), decltype(&cublasDgetrfBatched)> getrf_batched;
  OfType<decltype(&cublasSgetrsBatched), decltype(&cublasDgetrsBatched)> getrs_batched;
};

struct SolverLibrary {
  decltype(&cusolverDnCreate) create;
  decltype(&cusolverDnSetStream) set_stream;
  decltype(&cusolverDnCreateSyevjInfo) create_syevj_info;
  decltype(&cusolverDnCreateGesvdjInfo) create_gesvdj_info;
  decltype(&cublasCreate) create_blas;
  decltype(&cublasSetStream) set_blas_stream;
  decltype(&cublasSetWorkspace) set_blas_workspace;
  SolverFunctions<float> single;
  SolverFunctions<double> wide;

  template <class T>
  const SolverFunctions<T>& functions() const noexcept {
    if constexpr (std::is_same_v<T, float>)
      return single;
    else
      return wide;
  }
};

// Null: there is none, which is said once. Any thread.
const SolverLibrary* solver_library();

}  // namespace headrace
