// The functions of cuSOLVER and of cuBLAS that headrace's plug-in asks for (backend/cuda/solver_library.cc).
#include "tests/cuda/stand_in/solver.h"

using namespace stand_in;

#define STAND_IN_API extern "C" [[gnu::visibility("default")]]

namespace {

constexpr size_t kBlasWorkspace = size_t{4} << 20;  // the least that a handle wants

cusolverStatus_t solver_status(int status) { return static_cast<cusolverStatus_t>(status); }
cublasStatus_t blas_status(int status) { return static_cast<cublasStatus_t>(status); }

template <class Handle>
int create(Handle* handle, const char* name) {
  *handle = reinterpret_cast<Handle>(new SolverHandle{&machine().needed(name)});
  return 0;
}

template <class Handle>
int set_stream(Handle handle, cudaStream_t stream) {
  auto& own = *reinterpret_cast<SolverHandle*>(handle);
  own.stream = reinterpret_cast<Stream*>(stream);
  own.has_workspace = false;
  return 0;
}

int give_size(int* size) {
  *size = kSolverWork;
  return 0;
}

}  // namespace

STAND_IN_API cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  return solver_status(create(handle, "cusolverDnCreate"));
}

STAND_IN_API cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  return solver_status(set_stream(handle, stream));
}

STAND_IN_API cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t*) { return CUSOLVER_STATUS_SUCCESS; }
STAND_IN_API cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t*) { return CUSOLVER_STATUS_SUCCESS; }

STAND_IN_API cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return blas_status(create(handle, "cublasCreate"));
}

STAND_IN_API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return blas_status(set_stream(handle, stream));
}

STAND_IN_API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  constexpr const char* kCall = "cublasSetWorkspace";
  auto& own = *reinterpret_cast<SolverHandle*>(handle);
  if (bytes < kBlasWorkspace) violation("%s: %zu bytes are too few", kCall, bytes);
  Call(kCall, handle).memory(static_cast<char*>(workspace), static_cast<int64_t>(bytes));
  own.has_workspace = true;
  return CUBLAS_STATUS_SUCCESS;
}

// --- float ------------------------------------------------------------

STAND_IN_API cusolverStatus_t cusolverDnSpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, float*, int,
                                                          int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnSpotrf(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n, float* a,
                                               int lda, float*, int, int* info) {
  return solver_status(potrf(handle, triangle, n, one(a), lda, info));
}

STAND_IN_API cusolverStatus_t cusolverDnSpotrfBatched(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n,
                                                      float* a[], int lda, int* info, int count) {
  return solver_status(potrf(handle, triangle, n, many(a, count), lda, info));
}

STAND_IN_API cusolverStatus_t cusolverDnSpotri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, float*, int,
                                                          int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnSpotri(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n, float* a,
                                               int lda, float* work, int size, int* info) {
  return solver_status(potri(handle, triangle, n, a, lda, work, size, info));
}

STAND_IN_API cusolverStatus_t cusolverDnSgetrf_bufferSize(cusolverDnHandle_t, int, int, float*, int, int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnSgetrf(cusolverDnHandle_t handle, int rows, int, float* a, int lda, float*,
                                               int* pivots, int* info) {
  return solver_status(getrf(handle, rows, one(a), lda, pivots, info));
}

STAND_IN_API cublasStatus_t cublasSgetrfBatched(cublasHandle_t handle, int n, float* const a[], int lda, int* pivots,
                                                int* info, int count) {
  return blas_status(getrf(handle, n, many(a, count), lda, pivots, info));
}

STAND_IN_API cusolverStatus_t cusolverDnSgetrs(cusolverDnHandle_t handle, cublasOperation_t op, int n, int columns,
                                               const float* lu, int lda, const int* pivots, float* b, int ldb, int*) {
  return solver_status(getrs(handle, op, n, columns, one(lu), lda, pivots, one(b), ldb));
}

STAND_IN_API cublasStatus_t cublasSgetrsBatched(cublasHandle_t handle, cublasOperation_t op, int n, int columns,
                                                const float* const lu[], int lda, const int* pivots, float* const b[],
                                                int ldb, int* refused, int count) {
  return blas_status(*refused = getrs(handle, op, n, columns, many(lu, count), lda, pivots, many(b, count), ldb));
}

STAND_IN_API cusolverStatus_t cusolverDnSgeqrf_bufferSize(cusolverDnHandle_t, int, int, float*, int, int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnSgeqrf(cusolverDnHandle_t handle, int rows, int columns, float* a, int lda,
                                               float* reflectors, float* work, int size, int* info) {
  return solver_status(geqrf(handle, rows, columns, a, lda, reflectors, work, size, info));
}

STAND_IN_API cusolverStatus_t cusolverDnSorgqr_bufferSize(cusolverDnHandle_t, int, int, int, const float*, int,
                                                          const float*, int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnSorgqr(cusolverDnHandle_t handle, int rows, int columns, int count, float* a,
                                               int lda, const float* reflectors, float* work, int size, int* info) {
  return solver_status(orgqr(handle, rows, columns, count, a, lda, reflectors, work, size, info));
}

STAND_IN_API cusolverStatus_t cusolverDnSsyevd_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
                                                          const float*, int, const float*, int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnSsyevd(cusolverDnHandle_t handle, cusolverEigMode_t mode,
                                               cublasFillMode_t triangle, int n, float* a, int lda, float* values,
                                               float* work, int size, int* info) {
  return solver_status(syevd(handle, mode, triangle, n, a, lda, values, work, size, info));
}

STAND_IN_API cusolverStatus_t cusolverDnSsyevjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t,
                                                                 cublasFillMode_t, int, const float*, int, const float*,
                                                                 int* size, syevjInfo_t, int) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnSsyevjBatched(cusolverDnHandle_t handle, cusolverEigMode_t mode,
                                                      cublasFillMode_t triangle, int n, float* a, int lda,
                                                      float* values, float* work, int size, int* info, syevjInfo_t,
                                                      int count) {
  return solver_status(syevj_batched(handle, mode, triangle, n, a, lda, values, work, size, info, count));
}

STAND_IN_API cusolverStatus_t cusolverDnSgesvd_bufferSize(cusolverDnHandle_t, int, int, int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnSgesvd(cusolverDnHandle_t handle, signed char left, signed char right, int rows,
                                               int columns, float* a, int lda, float* values, float*, int, float* vt,
                                               int ldvt, float* work, int size, float*, int* info) {
  return solver_status(gesvd(handle, left, right, rows, columns, a, lda, values, vt, ldvt, work, size, info));
}

STAND_IN_API cusolverStatus_t cusolverDnSgesvdjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int,
                                                                  const float*, int, const float*, const float*, int,
                                                                  const float*, int, int* size, gesvdjInfo_t, int) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnSgesvdjBatched(cusolverDnHandle_t handle, cusolverEigMode_t mode, int rows,
                                                       int columns, float* a, int lda, float* values, float* u, int ldu,
                                                       float* v, int ldv, float* work, int size, int* info,
                                                       gesvdjInfo_t, int count) {
  return solver_status(
      gesvdj_batched(handle, mode, rows, columns, a, lda, values, u, ldu, v, ldv, work, size, info, count));
}

STAND_IN_API cublasStatus_t cublasStrsm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,
                                           cublasOperation_t op, cublasDiagType_t diagonal, int rows, int columns,
                                           const float* alpha, const float* a, int lda, float* b, int ldb) {
  return blas_status(trsm(handle, side, triangle, op, diagonal, rows, columns, alpha, one(a), lda, one(b), ldb));
}

STAND_IN_API cublasStatus_t cublasStrsmBatched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,
                                               cublasOperation_t op, cublasDiagType_t diagonal, int rows, int columns,
                                               const float* alpha, const float* const a[], int lda, float* const b[],
                                               int ldb, int count) {
  return blas_status(
      trsm(handle, side, triangle, op, diagonal, rows, columns, alpha, many(a, count), lda, many(b, count), ldb));
}

// --- double ------------------------------------------------------------

STAND_IN_API cusolverStatus_t cusolverDnDpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, double*, int,
                                                          int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnDpotrf(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n, double* a,
                                               int lda, double*, int, int* info) {
  return solver_status(potrf(handle, triangle, n, one(a), lda, info));
}

STAND_IN_API cusolverStatus_t cusolverDnDpotrfBatched(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n,
                                                      double* a[], int lda, int* info, int count) {
  return solver_status(potrf(handle, triangle, n, many(a, count), lda, info));
}

STAND_IN_API cusolverStatus_t cusolverDnDpotri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, double*, int,
                                                          int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnDpotri(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n, double* a,
                                               int lda, double* work, int size, int* info) {
  return solver_status(potri(handle, triangle, n, a, lda, work, size, info));
}

STAND_IN_API cusolverStatus_t cusolverDnDgetrf_bufferSize(cusolverDnHandle_t, int, int, double*, int, int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnDgetrf(cusolverDnHandle_t handle, int rows, int, double* a, int lda, double*,
                                               int* pivots, int* info) {
  return solver_status(getrf(handle, rows, one(a), lda, pivots, info));
}

STAND_IN_API cublasStatus_t cublasDgetrfBatched(cublasHandle_t handle, int n, double* const a[], int lda, int* pivots,
                                                int* info, int count) {
  return blas_status(getrf(handle, n, many(a, count), lda, pivots, info));
}

STAND_IN_API cusolverStatus_t cusolverDnDgetrs(cusolverDnHandle_t handle, cublasOperation_t op, int n, int columns,
                                               const double* lu, int lda, const int* pivots, double* b, int ldb, int*) {
  return solver_status(getrs(handle, op, n, columns, one(lu), lda, pivots, one(b), ldb));
}

STAND_IN_API cublasStatus_t cublasDgetrsBatched(cublasHandle_t handle, cublasOperation_t op, int n, int columns,
                                                const double* const lu[], int lda, const int* pivots, double* const b[],
                                                int ldb, int* refused, int count) {
  return blas_status(*refused = getrs(handle, op, n, columns, many(lu, count), lda, pivots, many(b, count), ldb));
}

STAND_IN_API cusolverStatus_t cusolverDnDgeqrf_bufferSize(cusolverDnHandle_t, int, int, double*, int, int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnDgeqrf(cusolverDnHandle_t handle, int rows, int columns, double* a, int lda,
                                               double* reflectors, double* work, int size, int* info) {
  return solver_status(geqrf(handle, rows, columns, a, lda, reflectors, work, size, info));
}

STAND_IN_API cusolverStatus_t cusolverDnDorgqr_bufferSize(cusolverDnHandle_t, int, int, int, const double*, int,
                                                          const double*, int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnDorgqr(cusolverDnHandle_t handle, int rows, int columns, int count, double* a,
                                               int lda, const double* reflectors, double* work, int size, int* info) {
  return solver_status(orgqr(handle, rows, columns, count, a, lda, reflectors, work, size, info));
}

STAND_IN_API cusolverStatus_t cusolverDnDsyevd_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
                                                          const double*, int, const double*, int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnDsyevd(cusolverDnHandle_t handle, cusolverEigMode_t mode,
                                               cublasFillMode_t triangle, int n, double* a, int lda, double* values,
                                               double* work, int size, int* info) {
  return solver_status(syevd(handle, mode, triangle, n, a, lda, values, work, size, info));
}

STAND_IN_API cusolverStatus_t cusolverDnDsyevjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t,
                                                                 cublasFillMode_t, int, const double*, int,
                                                                 const double*, int* size, syevjInfo_t, int) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnDsyevjBatched(cusolverDnHandle_t handle, cusolverEigMode_t mode,
                                                      cublasFillMode_t triangle, int n, double* a, int lda,
                                                      double* values, double* work, int size, int* info, syevjInfo_t,
                                                      int count) {
  return solver_status(syevj_batched(handle, mode, triangle, n, a, lda, values, work, size, info, count));
}

STAND_IN_API cusolverStatus_t cusolverDnDgesvd_bufferSize(cusolverDnHandle_t, int, int, int* size) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnDgesvd(cusolverDnHandle_t handle, signed char left, signed char right, int rows,
                                               int columns, double* a, int lda, double* values, double*, int,
                                               double* vt, int ldvt, double* work, int size, double*, int* info) {
  return solver_status(gesvd(handle, left, right, rows, columns, a, lda, values, vt, ldvt, work, size, info));
}

STAND_IN_API cusolverStatus_t cusolverDnDgesvdjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int,
                                                                  const double*, int, const double*, const double*, int,
                                                                  const double*, int, int* size, gesvdjInfo_t, int) {
  return solver_status(give_size(size));
}

STAND_IN_API cusolverStatus_t cusolverDnDgesvdjBatched(cusolverDnHandle_t handle, cusolverEigMode_t mode, int rows,
                                                       int columns, double* a, int lda, double* values, double* u,
                                                       int ldu, double* v, int ldv, double* work, int size, int* info,
                                                       gesvdjInfo_t, int count) {
  return solver_status(
      gesvdj_batched(handle, mode, rows, columns, a, lda, values, u, ldu, v, ldv, work, size, info, count));
}

STAND_IN_API cublasStatus_t cublasDtrsm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,
                                           cublasOperation_t op, cublasDiagType_t diagonal, int rows, int columns,
                                           const double* alpha, const double* a, int lda, double* b, int ldb) {
  return blas_status(trsm(handle, side, triangle, op, diagonal, rows, columns, alpha, one(a), lda, one(b), ldb));
}

STAND_IN_API cublasStatus_t cublasDtrsmBatched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,
                                               cublasOperation_t op, cublasDiagType_t diagonal, int rows, int columns,
                                               const double* alpha, const double* const a[], int lda, double* const b[],
                                               int ldb, int count) {
  return blas_status(
      trsm(handle, side, triangle, op, diagonal, rows, columns, alpha, many(a, count), lda, many(b, count), ldb));
}
