// What the stand-ins for cuSOLVER and cuBLAS compute: LAPACK does, on the host, when the stream has come to it. Calls
// that break the libraries' contracts end the process. T is float or double.
#pragma once

#include <cblas.h>
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <lapacke.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "tests/cuda/stand_in/machine.h"

namespace stand_in {

// Of cuSOLVER and of cuBLAS.
struct SolverHandle {
  Context* context;
  Stream* stream = nullptr;
  bool has_workspace = false;  // since its stream was set
};

// Numbers of workspace that functions ask for.
constexpr int kSolverWork = 48;

// One matrix, or `count` of them whose addresses lie in memory of the device.
template <class T>
struct Matrices {
  T* first;
  T* const* each;
  int count;
};
template <class T>
Matrices<T> one(const T* first) {
  return {const_cast<T*>(first), nullptr, 1};
}
template <class T>
Matrices<T> many(const T* const* each, int count) {
  return {nullptr, const_cast<T* const*>(each), count};
}

template <class T>
struct Lapack;

template <>
struct Lapack<float> {
  static constexpr auto potrf = scipy_LAPACKE_spotrf;
  static constexpr auto potri = scipy_LAPACKE_spotri;
  static constexpr auto getrf = scipy_LAPACKE_sgetrf;
  static constexpr auto getrs = scipy_LAPACKE_sgetrs;
  static constexpr auto geqrf = scipy_LAPACKE_sgeqrf;
  static constexpr auto orgqr = scipy_LAPACKE_sorgqr;
  static constexpr auto syevd = scipy_LAPACKE_ssyevd;
  static constexpr auto gesvd = scipy_LAPACKE_sgesvd;
  static constexpr auto trsm = scipy_cblas_strsm;
};

template <>
struct Lapack<double> {
  static constexpr auto potrf = scipy_LAPACKE_dpotrf;
  static constexpr auto potri = scipy_LAPACKE_dpotri;
  static constexpr auto getrf = scipy_LAPACKE_dgetrf;
  static constexpr auto getrs = scipy_LAPACKE_dgetrs;
  static constexpr auto geqrf = scipy_LAPACKE_dgeqrf;
  static constexpr auto orgqr = scipy_LAPACKE_dorgqr;
  static constexpr auto syevd = scipy_LAPACKE_dsyevd;
  static constexpr auto gesvd = scipy_LAPACKE_dgesvd;
  static constexpr auto trsm = scipy_cblas_dtrsm;
};

// The routines of a type, which start no threads and do not refuse NaN.
template <class T>
Lapack<T> lapack() {
  [[maybe_unused]] static const bool alone = (scipy_openblas_set_num_threads(1), scipy_LAPACKE_set_nancheck(0), true);
  return {};
}

inline char letter(cublasFillMode_t triangle) { return triangle == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }

inline CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// One call: where its memory lies, and its place on the stream.
class Call {
 public:
  Call(const char* name, void* handle) : name_(name), own_(*static_cast<SolverHandle*>(handle)) {
    Context& context = machine().needed(name);
    if (!own_.stream) violation("%s: the handle has no stream", name);
    if (own_.context != &context || &own_.stream->context() != &context)
      violation("%s: stream, handle and context are not of one device", name);
    is_refused_ = machine().enter_outside_of_capture(name) != CUDA_SUCCESS || own_.stream->is_capturing();
  }

  bool is_refused() const noexcept { return is_refused_; }
  void need(bool holds, const char* what) const {
    if (!holds) violation("%s: %s", name_, what);
  }
  template <class T>
  T* memory(const T* pointer, int64_t count) {
    uses_.push_back(address_of(pointer));
    return located(pointer, count);
  }
  template <class T>
  void take_work(const T* work, int size) {
    need(size >= kSolverWork, "the workspace is too small");
    memory(work, size);
  }
  // The places of matrices of so many elements, which are known when the stream has come there.
  template <class T>
  std::function<T*(int)> places(const Matrices<T>& matrices, int64_t size) {
    if (!matrices.each) return [place = memory(matrices.first, size)](int) { return place; };
    T* const* const each = memory(matrices.each, matrices.count);
    return [call = *this, each, size](int k) { return call.located(each[k], size); };
  }
  int put(std::function<void()> work) {
    own_.stream->put(std::move(uses_), std::move(work));
    return 0;
  }

 private:
  template <class T>
  T* located(const T* pointer, int64_t count) const {
    Context* const owner = machine().owner(address_of(pointer));
    if (owner != own_.context) violation("%s: an argument is no memory of the device", name_);
    return reinterpret_cast<T*>(owner->memory.find(address_of(pointer), static_cast<size_t>(count) * sizeof(T)));
  }

  const char* name_;
  const SolverHandle& own_;
  bool is_refused_ = false;
  std::vector<CUdeviceptr> uses_;
};

constexpr int kRefused = 6;  // CUSOLVER_STATUS_EXECUTION_FAILED

inline int64_t area(int64_t leading, int columns) { return leading * columns; }

// The library may use the other triangle for itself.
template <class T>
int potrf(void* handle, cublasFillMode_t triangle, int n, Matrices<T> a, int lda, int* info) {
  Call call("cusolverDnpotrf", handle);
  if (call.is_refused()) return kRefused;
  call.need(n > 0 && lda >= n && a.count > 0, "there is no matrix");
  const auto places = call.places(a, area(lda, n));
  int* const results = call.memory(info, a.count);
  return call.put([=] {
    for (int k = 0; k < a.count; ++k) {
      T* const matrix = places(k);
      results[k] = lapack<T>().potrf(LAPACK_COL_MAJOR, letter(triangle), n, matrix, lda);
      for (int column = 0; column < n; ++column)
        for (int row = 0; row < n; ++row)
          if (triangle == CUBLAS_FILL_MODE_LOWER ? row < column : column < row)
            matrix[area(lda, column) + row] = std::numeric_limits<T>::quiet_NaN();
    }
  });
}

template <class T>
int potri(void* handle, cublasFillMode_t triangle, int n, T* a, int lda, T* work, int size, int* info) {
  Call call("cusolverDnpotri", handle);
  if (call.is_refused()) return kRefused;
  call.need(n > 0 && lda >= n, "there is no matrix");
  call.take_work(work, size);
  T* const matrix = call.memory(a, area(lda, n));
  int* const result = call.memory(info, 1);
  // Zeros on the diagonal are what the library does not look for.
  return call.put(
      [=] { *result = std::min(0, lapack<T>().potri(LAPACK_COL_MAJOR, letter(triangle), n, matrix, lda)); });
}

template <class T>
int getrf(void* handle, int n, Matrices<T> a, int lda, int* pivots, int* info) {
  Call call("getrf", handle);
  if (call.is_refused()) return kRefused;
  call.need(n > 0 && lda >= n && a.count > 0, "there is no matrix");
  const auto places = call.places(a, area(lda, n));
  int* const exchanges = call.memory(pivots, area(n, a.count));
  int* const results = call.memory(info, a.count);
  return call.put([=] {
    for (int k = 0; k < a.count; ++k)
      results[k] = lapack<T>().getrf(LAPACK_COL_MAJOR, n, n, places(k), lda, exchanges + area(n, k));
  });
}

template <class T>
int getrs(void* handle, cublasOperation_t op, int n, int columns, Matrices<T> lu, int lda, const int* pivots,
          Matrices<T> b, int ldb) {
  Call call("getrs", handle);
  if (call.is_refused()) return kRefused;
  call.need(n > 0 && lda >= n && ldb >= n && columns > 0, "there is no matrix");
  const auto factors = call.places(lu, area(lda, n)), sides = call.places(b, area(ldb, columns));
  const int* const exchanges = call.memory(pivots, area(n, lu.count));
  return call.put([=] {
    for (int k = 0; k < lu.count; ++k)
      lapack<T>().getrs(LAPACK_COL_MAJOR, op == CUBLAS_OP_T ? 'T' : 'N', n, columns, factors(k), lda,
                        exchanges + area(n, k), sides(k), ldb);
  });
}

template <class T>
int geqrf(void* handle, int rows, int columns, T* a, int lda, T* reflectors, T* work, int size, int* info) {
  Call call("cusolverDngeqrf", handle);
  if (call.is_refused()) return kRefused;
  call.need(columns > 0 && rows >= columns && lda >= rows, "this is no matrix with more rows than columns");
  call.take_work(work, size);
  T* const matrix = call.memory(a, area(lda, columns));
  T* const scales = call.memory(reflectors, columns);
  int* const result = call.memory(info, 1);
  return call.put([=] { *result = lapack<T>().geqrf(LAPACK_COL_MAJOR, rows, columns, matrix, lda, scales); });
}

template <class T>
int orgqr(void* handle, int rows, int columns, int count, T* a, int lda, const T* reflectors, T* work, int size,
          int* info) {
  Call call("cusolverDnorgqr", handle);
  if (call.is_refused()) return kRefused;
  call.need(columns > 0 && rows >= columns && lda >= rows && count <= columns, "the shapes do not fit");
  call.take_work(work, size);
  T* const matrix = call.memory(a, area(lda, columns));
  const T* const scales = call.memory(reflectors, count);
  int* const result = call.memory(info, 1);
  return call.put([=] { *result = lapack<T>().orgqr(LAPACK_COL_MAJOR, rows, columns, count, matrix, lda, scales); });
}

template <class T>
int syevd(void* handle, cusolverEigMode_t mode, cublasFillMode_t triangle, int n, T* a, int lda, T* values, T* work,
          int size, int* info) {
  Call call("cusolverDnsyevd", handle);
  if (call.is_refused()) return kRefused;
  call.need(n > 0 && lda >= n && mode == CUSOLVER_EIG_MODE_VECTOR, "there is no matrix, or nobody wants its vectors");
  call.take_work(work, size);
  T* const matrix = call.memory(a, area(lda, n));
  T* const eigenvalues = call.memory(values, n);
  int* const result = call.memory(info, 1);
  return call.put(
      [=] { *result = lapack<T>().syevd(LAPACK_COL_MAJOR, 'V', letter(triangle), n, matrix, lda, eigenvalues); });
}

// Many at once, one behind the other.
template <class T>
int syevj_batched(void* handle, cusolverEigMode_t mode, cublasFillMode_t triangle, int n, T* a, int lda, T* values,
                  T* work, int size, int* info, int count) {
  Call call("cusolverDnsyevjBatched", handle);
  if (call.is_refused()) return kRefused;
  call.need(n > 0 && lda == n && count > 0 && mode == CUSOLVER_EIG_MODE_VECTOR,
            "there is no matrix, or nobody wants its vectors");
  call.take_work(work, size);
  T* const matrices = call.memory(a, count * area(n, n));
  T* const eigenvalues = call.memory(values, area(n, count));
  int* const results = call.memory(info, count);
  return call.put([=] {
    for (int k = 0; k < count; ++k)
      results[k] = lapack<T>().syevd(LAPACK_COL_MAJOR, 'V', letter(triangle), n, matrices + k * area(n, n), n,
                                     eigenvalues + k * n);
  });
}

template <class T>
int gesvd(void* handle, signed char left, signed char right, int rows, int columns, T* a, int lda, T* values, T* vt,
          int ldvt, T* work, int size, int* info) {
  Call call("cusolverDngesvd", handle);
  if (call.is_refused()) return kRefused;
  call.need(left == 'O' && right == 'A', "other vectors than these are not known here");
  call.need(columns > 0 && rows >= columns && lda >= rows && ldvt >= columns,
            "this is no matrix with more rows than columns");
  call.take_work(work, size);
  T* const matrix = call.memory(a, area(lda, columns));
  T* const singular_values = call.memory(values, columns);
  T* const vectors = call.memory(vt, area(ldvt, columns));
  int* const result = call.memory(info, 1);
  return call.put([=] {
    std::vector<T> rest(static_cast<size_t>(columns));
    *result = lapack<T>().gesvd(LAPACK_COL_MAJOR, 'O', 'A', rows, columns, matrix, lda, singular_values, nullptr, rows,
                                vectors, ldvt, rest.data());
  });
}

// Many at once, one behind the other, with all left vectors.
template <class T>
int gesvdj_batched(void* handle, cusolverEigMode_t mode, int rows, int columns, T* a, int lda, T* values, T* u, int ldu,
                   T* v, int ldv, T* work, int size, int* info, int count) {
  constexpr int kMost = 32;
  Call call("cusolverDngesvdjBatched", handle);
  if (call.is_refused()) return kRefused;
  call.need(rows <= kMost && columns <= kMost, "these are too large");
  call.need(columns > 0 && rows >= columns && lda == rows && ldu == rows && ldv == columns && count > 0,
            "these are no matrices with more rows than columns that lie together");
  call.need(mode == CUSOLVER_EIG_MODE_VECTOR, "nobody wants vectors");
  call.take_work(work, size);
  const int64_t square = area(columns, columns);
  T* const matrices = call.memory(a, count * area(rows, columns));
  T* const singular_values = call.memory(values, area(columns, count));
  T *const left = call.memory(u, count * area(rows, rows)), *const right = call.memory(v, count * square);
  int* const results = call.memory(info, count);
  return call.put([=] {
    std::vector<T> rest(static_cast<size_t>(columns)), turned(static_cast<size_t>(square));
    for (int k = 0; k < count; ++k) {
      results[k] = lapack<T>().gesvd(LAPACK_COL_MAJOR, 'A', 'A', rows, columns, matrices + k * area(rows, columns),
                                     rows, singular_values + area(k, columns), left + k * area(rows, rows), rows,
                                     turned.data(), columns, rest.data());
      for (int64_t i = 0; i < square; ++i)
        right[k * square + i] = turned[static_cast<size_t>(i % columns * columns + i / columns)];
    }
  });
}

template <class T>
int trsm(void* handle, cublasSideMode_t side, cublasFillMode_t triangle, cublasOperation_t op,
         cublasDiagType_t diagonal, int rows, int columns, const T* alpha, Matrices<T> a, int lda, Matrices<T> b,
         int ldb) {
  Call call("cublastrsm", handle);
  if (call.is_refused()) return kRefused;
  call.need(static_cast<SolverHandle*>(handle)->has_workspace, "the handle has no workspace");
  const bool is_left = side == CUBLAS_SIDE_LEFT;
  const int n = is_left ? rows : columns;
  call.need(rows > 0 && columns > 0 && lda >= n && ldb >= rows, "there is no matrix");
  call.need(diagonal == CUBLAS_DIAG_NON_UNIT, "ones on the diagonal are not known here");
  const auto factors = call.places(a, area(lda, n)), others = call.places(b, area(ldb, columns));
  return call.put([=, factor = *alpha] {
    for (int k = 0; k < a.count; ++k)
      lapack<T>().trsm(CblasColMajor, is_left ? CblasLeft : CblasRight,
                       triangle == CUBLAS_FILL_MODE_LOWER ? CblasLower : CblasUpper,
                       op == CUBLAS_OP_T ? CblasTrans : CblasNoTrans, CblasNonUnit, rows, columns, factor, factors(k),
                       lda, others(k), ldb);
  });
}

}  // namespace stand_in
