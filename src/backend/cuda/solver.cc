#include "backend/cuda/solver.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/gang_lock.h"
#include "backend/cuda/solver_library.h"
#include "base/check.h"

namespace headrace {

// Of one device, which its launch thread alone uses. Kept as long as the process.
struct SolverHandles {
  cusolverDnHandle_t solver = nullptr;
  syevjInfo_t syevj = nullptr;    // the library's defaults
  gesvdjInfo_t gesvdj = nullptr;  // likewise
  cublasHandle_t blas = nullptr;
};

namespace {

constexpr int kMostBatched = 512;  // rows; larger matrices of a stack keep the device busy one by one
constexpr int kMostOfJacobi = 32;  // rows of matrices of which cuSOLVER takes many at once

cublasFillMode_t fill_mode(SolverTriangle triangle) {
  return triangle == SolverTriangle::kLower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

void check_status(const CudaDevice& device, int status, const char* function, const char* hint = "") {
  check(status == 0, ErrorKind::kRuntime, "{}: {} of NVIDIA's cuSOLVER or cuBLAS answered status {}{}",
        to_string(device.device()), function, status, hint);
}

// What recent GPUs and older ones are said to want (cuBLAS, cublasSetWorkspace).
size_t workspace_bytes(const CudaDevice& device) {
  constexpr int kHopper = 90;
  return size_t{device.compute_capability() >= kHopper ? 32U : 4U} << 20;
}

// To make handles takes memory of the device.
const SolverHandles& handles_of(const CudaDevice& device) {
  static auto& all = *new std::array<SolverHandles, Accelerator::kMost>;
  SolverHandles& own = all[static_cast<size_t>(device.device().id)];
  if (own.blas) return own;
  constexpr const char* kHint =
      "; is cuSOLVER made for the driver's version of CUDA? With HEADRACE_CUDA_SOLVER=none the host computes this";
  const std::lock_guard guard(gang_lock());
  if (!own.solver) check_status(device, solver_library()->create(&own.solver), "cusolverDnCreate", kHint);
  if (!own.syevj) check_status(device, solver_library()->create_syevj_info(&own.syevj), "cusolverDnCreateSyevjInfo");
  if (!own.gesvdj)
    check_status(device, solver_library()->create_gesvdj_info(&own.gesvdj), "cusolverDnCreateGesvdjInfo");
  check_status(device, solver_library()->create_blas(&own.blas), "cublasCreate", kHint);
  return own;
}

CudaDevice& device_of(CudaStream& stream) { return static_cast<CudaDevice&>(stream.accelerator()); }

template <class T>
const SolverFunctions<T>& solver_functions() {
  return solver_library()->functions<T>();
}

template <class T>
int int_count(const MatrixBatch<T>& batch) {
  constexpr int64_t kMost = 0x7fffffff;
  check(batch.count <= kMost, ErrorKind::kRuntime, "{} matrices are too many for a GPU: it takes {} at once",
        batch.count, kMost);
  return static_cast<int>(batch.count);
}

// Whether the functions for many matrices at once are the faster ones.
template <class T>
bool goes_together(int n, const MatrixBatch<T>& batch) {
  return batch.count > 1 && n <= kMostBatched;
}

int64_t area(int rows, int columns) { return int64_t{rows} * columns; }

}  // namespace

bool has_solver() { return solver_library() != nullptr; }

bool is_stack_of_small(int rows, int64_t count) noexcept { return count > 1 && rows <= kMostOfJacobi; }

template <class T>
Solver<T>::Solver(CudaStream& stream, Memory memory)
    : stream_(stream), memory_(std::move(memory)), handles_(handles_of(device_of(stream))) {
  headrace::check(!stream.is_capturing(), ErrorKind::kRuntime, "decompositions of matrices cannot be captured");
  check(solver_library()->set_stream(handles_.solver, stream.handle()), "cusolverDnSetStream");
  check(solver_library()->set_blas_stream(handles_.blas, stream.handle()), "cublasSetStream");
  const size_t bytes = workspace_bytes(device_of(stream));
  check(solver_library()->set_blas_workspace(handles_.blas, memory_(bytes), bytes), "cublasSetWorkspace");
}

template <class T>
void Solver<T>::check(int status, const char* function) const {
  check_status(device_of(stream_), status, function);
}

template <class T>
T* Solver<T>::work(int numbers) const {
  return static_cast<T*>(memory_(static_cast<size_t>(std::max(1, numbers)) * sizeof(T)));
}

template <class T>
void Solver<T>::potrf(SolverTriangle triangle, int n, const MatrixBatch<T>& a, int* info) {
  const cublasFillMode_t mode = fill_mode(triangle);
  if (goes_together(n, a))
    return check(solver_functions<T>().potrf_batched(handles_.solver, mode, n, a.each, n, info, int_count(a)),
                 "potrfBatched");
  int size = 0;
  check(solver_functions<T>().potrf_size(handles_.solver, mode, n, a.first, n, &size), "potrf_bufferSize");
  T* const memory = work(size);
  for (int64_t k = 0; k < a.count; ++k)
    check(solver_functions<T>().potrf(handles_.solver, mode, n, a.first + k * area(n, n), n, memory, size, info + k),
          "potrf");
}

template <class T>
void Solver<T>::potri(SolverTriangle triangle, int n, const MatrixBatch<T>& a, int* info) {
  const cublasFillMode_t mode = fill_mode(triangle);
  int size = 0;
  check(solver_functions<T>().potri_size(handles_.solver, mode, n, a.first, n, &size), "potri_bufferSize");
  T* const memory = work(size);
  for (int64_t k = 0; k < a.count; ++k)
    check(solver_functions<T>().potri(handles_.solver, mode, n, a.first + k * area(n, n), n, memory, size, info + k),
          "potri");
}

template <class T>
void Solver<T>::getrf(int n, const MatrixBatch<T>& a, int* pivots, int* info) {
  if (goes_together(n, a))
    return check(solver_functions<T>().getrf_batched(handles_.blas, n, a.each, n, pivots, info, int_count(a)),
                 "getrfBatched");
  int size = 0;
  check(solver_functions<T>().getrf_size(handles_.solver, n, n, a.first, n, &size), "getrf_bufferSize");
  T* const memory = work(size);
  for (int64_t k = 0; k < a.count; ++k)
    check(solver_functions<T>().getrf(handles_.solver, n, n, a.first + k * area(n, n), n, memory, pivots + k * n,
                                      info + k),
          "getrf");
}

template <class T>
void Solver<T>::getrs(bool transpose, int n, int columns, const MatrixBatch<T>& lu, const int* pivots,
                      const MatrixBatch<T>& b) {
  if (goes_together(n, lu)) {
    int refused = 0;  // the number of an argument
    check(solver_functions<T>().getrs_batched(handles_.blas, operation(transpose), n, columns, lu.each, n, pivots,
                                              b.each, n, &refused, int_count(lu)),
          "getrsBatched");
    return;
  }
  auto* const info = static_cast<int*>(memory_(sizeof(int)));  // of arguments as well
  for (int64_t k = 0; k < lu.count; ++k)
    check(solver_functions<T>().getrs(handles_.solver, operation(transpose), n, columns, lu.first + k * area(n, n), n,
                                      pivots + k * n, b.first + k * area(n, columns), n, info),
          "getrs");
}

template <class T>
void Solver<T>::geqrf(int rows, int columns, const MatrixBatch<T>& a, T* reflectors, int* info) {
  int size = 0;
  check(solver_functions<T>().geqrf_size(handles_.solver, rows, columns, a.first, rows, &size), "geqrf_bufferSize");
  T* const memory = work(size);
  for (int64_t k = 0; k < a.count; ++k)
    check(solver_functions<T>().geqrf(handles_.solver, rows, columns, a.first + k * area(rows, columns), rows,
                                      reflectors + k * columns, memory, size, info + k),
          "geqrf");
}

template <class T>
void Solver<T>::orgqr(int rows, int columns, const MatrixBatch<T>& a, const T* reflectors, int* info) {
  int size = 0;
  check(solver_functions<T>().orgqr_size(handles_.solver, rows, columns, columns, a.first, rows, reflectors, &size),
        "orgqr_bufferSize");
  T* const memory = work(size);
  for (int64_t k = 0; k < a.count; ++k)
    check(solver_functions<T>().orgqr(handles_.solver, rows, columns, columns, a.first + k * area(rows, columns), rows,
                                      reflectors + k * columns, memory, size, info + k),
          "orgqr");
}

template <class T>
void Solver<T>::syevd(SolverTriangle triangle, int n, const MatrixBatch<T>& a, T* eigenvalues, int* info) {
  constexpr cusolverEigMode_t kVectors = CUSOLVER_EIG_MODE_VECTOR;
  const cublasFillMode_t mode = fill_mode(triangle);
  const SolverFunctions<T>& functions = solver_functions<T>();
  int size = 0;
  if (is_stack_of_small(n, a.count)) {
    const int count = int_count(a);
    check(functions.syevj_batched_size(handles_.solver, kVectors, mode, n, a.first, n, eigenvalues, &size,
                                       handles_.syevj, count),
          "syevjBatched_bufferSize");
    return check(functions.syevj_batched(handles_.solver, kVectors, mode, n, a.first, n, eigenvalues, work(size), size,
                                         info, handles_.syevj, count),
                 "syevjBatched");
  }
  check(functions.syevd_size(handles_.solver, kVectors, mode, n, a.first, n, eigenvalues, &size), "syevd_bufferSize");
  T* const memory = work(size);
  for (int64_t k = 0; k < a.count; ++k)
    check(functions.syevd(handles_.solver, kVectors, mode, n, a.first + k * area(n, n), n, eigenvalues + k * n, memory,
                          size, info + k),
          "syevd");
}

template <class T>
void Solver<T>::gesvd(int rows, int columns, const MatrixBatch<T>& a, T* singular_values, T* right, int* info) {
  constexpr signed char kInPlace = 'O', kAll = 'A';
  int size = 0;
  check(solver_functions<T>().gesvd_size(handles_.solver, rows, columns, &size), "gesvd_bufferSize");
  T* const memory = work(size);
  for (int64_t k = 0; k < a.count; ++k)
    check(solver_functions<T>().gesvd(handles_.solver, kInPlace, kAll, rows, columns, a.first + k * area(rows, columns),
                                      rows, singular_values + k * columns, nullptr, rows,
                                      right + k * area(columns, columns), columns, memory, size, nullptr, info + k),
          "gesvd");
}

template <class T>
void Solver<T>::gesvdj(int rows, int columns, const MatrixBatch<T>& a, T* singular_values, T* left, T* right,
                       int* info) {
  constexpr cusolverEigMode_t kVectors = CUSOLVER_EIG_MODE_VECTOR;
  const SolverFunctions<T>& functions = solver_functions<T>();
  const int count = int_count(a);
  int size = 0;
  check(functions.gesvdj_batched_size(handles_.solver, kVectors, rows, columns, a.first, rows, singular_values, left,
                                      rows, right, columns, &size, handles_.gesvdj, count),
        "gesvdjBatched_bufferSize");
  check(functions.gesvdj_batched(handles_.solver, kVectors, rows, columns, a.first, rows, singular_values, left, rows,
                                 right, columns, work(size), size, info, handles_.gesvdj, count),
        "gesvdjBatched");
}

template <class T>
void Solver<T>::trsm(bool left, SolverTriangle triangle, bool transpose, int rows, int columns, T alpha,
                     const MatrixBatch<T>& a, const MatrixBatch<T>& b) {
  const cublasSideMode_t side = left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
  const int n = left ? rows : columns;
  if (goes_together(n, a))
    return check(solver_functions<T>().trsm_batched(handles_.blas, side, fill_mode(triangle), operation(transpose),
                                                    CUBLAS_DIAG_NON_UNIT, rows, columns, &alpha, a.each, n, b.each,
                                                    rows, int_count(a)),
                 "trsmBatched");
  for (int64_t k = 0; k < a.count; ++k)
    check(solver_functions<T>().trsm(handles_.blas, side, fill_mode(triangle), operation(transpose),
                                     CUBLAS_DIAG_NON_UNIT, rows, columns, &alpha, a.first + k * area(n, n), n,
                                     b.first + k * area(rows, columns), rows),
          "trsm");
}

template class Solver<float>;
template class Solver<double>;

}  // namespace headrace
