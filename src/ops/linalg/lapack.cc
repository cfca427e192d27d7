#include "ops/linalg/lapack.h"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>

namespace headrace::lapack {
namespace {

template <class T>
struct Routines;

template <>
struct Routines<float> {
  static constexpr auto potrf = scipy_LAPACKE_spotrf_work;
  static constexpr auto potri = scipy_LAPACKE_spotri_work;
  static constexpr auto getrf = scipy_LAPACKE_sgetrf_work;
  static constexpr auto getri = scipy_LAPACKE_sgetri_work;
  static constexpr auto getrs = scipy_LAPACKE_sgetrs_work;
  static constexpr auto geqrf = scipy_LAPACKE_sgeqrf_work;
  static constexpr auto orgqr = scipy_LAPACKE_sorgqr_work;
  static constexpr auto syevd = scipy_LAPACKE_ssyevd_work;
  static constexpr auto gesdd = scipy_LAPACKE_sgesdd_work;
  static constexpr auto geev = scipy_LAPACKE_sgeev_work;
  static constexpr auto trmm = scipy_cblas_strmm;
  static constexpr auto trsm = scipy_cblas_strsm;
};

template <>
struct Routines<double> {
  static constexpr auto potrf = scipy_LAPACKE_dpotrf_work;
  static constexpr auto potri = scipy_LAPACKE_dpotri_work;
  static constexpr auto getrf = scipy_LAPACKE_dgetrf_work;
  static constexpr auto getri = scipy_LAPACKE_dgetri_work;
  static constexpr auto getrs = scipy_LAPACKE_dgetrs_work;
  static constexpr auto geqrf = scipy_LAPACKE_dgeqrf_work;
  static constexpr auto orgqr = scipy_LAPACKE_dorgqr_work;
  static constexpr auto syevd = scipy_LAPACKE_dsyevd_work;
  static constexpr auto gesdd = scipy_LAPACKE_dgesdd_work;
  static constexpr auto geev = scipy_LAPACKE_dgeev_work;
  static constexpr auto trmm = scipy_cblas_dtrmm;
  static constexpr auto trsm = scipy_cblas_dtrsm;
};

// The routines of a type, OpenBLAS having been told to start no threads.
template <class T>
Routines<T> routines() {
  [[maybe_unused]] static const bool alone = (scipy_openblas_set_num_threads(1), true);
  return {};
}

char letter(Triangle triangle) { return static_cast<char>(triangle); }

// Calls a routine that says in its first number how much memory it wants when it is given none, and then gives it that.
template <class T, class F>
int with_memory(Scratch<T>& scratch, F&& routine) {
  T wanted = 0;
  routine(&wanted, -1);
  const int size = std::max(1, static_cast<int>(wanted));
  if (scratch.numbers.size() < static_cast<size_t>(size)) scratch.numbers.resize(static_cast<size_t>(size));
  return routine(scratch.numbers.data(), size);
}

int* integers(std::vector<int>& memory, int count) {
  if (memory.size() < static_cast<size_t>(count)) memory.resize(static_cast<size_t>(count));
  return memory.data();
}

}  // namespace

template <class T>
int potrf(Triangle triangle, int n, T* a) {
  return routines<T>().potrf(LAPACK_COL_MAJOR, letter(triangle), n, a, std::max(1, n));
}

template <class T>
int potri(Triangle triangle, int n, T* a) {
  return routines<T>().potri(LAPACK_COL_MAJOR, letter(triangle), n, a, std::max(1, n));
}

template <class T>
int getrf(int n, T* a, int* pivots) {
  return routines<T>().getrf(LAPACK_COL_MAJOR, n, n, a, std::max(1, n), pivots);
}

template <class T>
void getri(int n, T* a, const int* pivots, Scratch<T>& scratch) {
  with_memory(scratch, [&](T* work, int size) {
    return routines<T>().getri(LAPACK_COL_MAJOR, n, a, std::max(1, n), pivots, work, size);
  });
}

template <class T>
void getrs(int n, int columns, const T* lu, const int* pivots, T* b) {
  routines<T>().getrs(LAPACK_COL_MAJOR, 'N', n, columns, lu, std::max(1, n), pivots, b, std::max(1, n));
}

template <class T>
void geqrf(int rows, int columns, T* a, T* reflectors, Scratch<T>& scratch) {
  with_memory(scratch, [&](T* work, int size) {
    return routines<T>().geqrf(LAPACK_COL_MAJOR, rows, columns, a, std::max(1, rows), reflectors, work, size);
  });
}

template <class T>
void orgqr(int rows, int columns, T* a, const T* reflectors, Scratch<T>& scratch) {
  with_memory(scratch, [&](T* work, int size) {
    return routines<T>().orgqr(LAPACK_COL_MAJOR, rows, columns, columns, a, std::max(1, rows), reflectors, work, size);
  });
}

template <class T>
int syevd(bool vectors, Triangle triangle, int n, T* a, T* eigenvalues, Scratch<T>& scratch) {
  const int integer_count = vectors ? 3 + 5 * n : 1;
  int* memory = integers(scratch.integers, integer_count);
  return with_memory(scratch, [&](T* work, int size) {
    return routines<T>().syevd(LAPACK_COL_MAJOR, vectors ? 'V' : 'N', letter(triangle), n, a, std::max(1, n),
                               eigenvalues, work, size, memory, size < 0 ? -1 : integer_count);
  });
}

template <class T>
int gesdd(int rows, int columns, T* a, T* singular_values, T* right, Scratch<T>& scratch) {
  int* memory = integers(scratch.integers, 8 * columns);
  return with_memory(scratch, [&](T* work, int size) {
    return routines<T>().gesdd(LAPACK_COL_MAJOR, 'O', rows, columns, a, std::max(1, rows), singular_values, nullptr,
                               std::max(1, rows), right, std::max(1, columns), work, size, memory);
  });
}

template <class T>
int geev(int n, T* a, T* real, T* imaginary, T* vectors, Scratch<T>& scratch) {
  return with_memory(scratch, [&](T* work, int size) {
    return routines<T>().geev(LAPACK_COL_MAJOR, 'N', vectors ? 'V' : 'N', n, a, std::max(1, n), real, imaginary,
                              nullptr, 1, vectors, std::max(1, n), work, size);
  });
}

template <class T>
void trmm(bool left, Triangle triangle, bool transpose, int rows, int columns, T alpha, const T* a, T* b) {
  routines<T>().trmm(CblasColMajor, left ? CblasLeft : CblasRight,
                     triangle == Triangle::kLower ? CblasLower : CblasUpper, transpose ? CblasTrans : CblasNoTrans,
                     CblasNonUnit, rows, columns, alpha, a, std::max(1, left ? rows : columns), b, std::max(1, rows));
}

template <class T>
void trsm(bool left, Triangle triangle, bool transpose, int rows, int columns, T alpha, const T* a, T* b) {
  routines<T>().trsm(CblasColMajor, left ? CblasLeft : CblasRight,
                     triangle == Triangle::kLower ? CblasLower : CblasUpper, transpose ? CblasTrans : CblasNoTrans,
                     CblasNonUnit, rows, columns, alpha, a, std::max(1, left ? rows : columns), b, std::max(1, rows));
}

// What is used in other files.
template int potrf(Triangle, int, float*);
template int potrf(Triangle, int, double*);
template int potri(Triangle, int, float*);
template int potri(Triangle, int, double*);
template int getrf(int, float*, int*);
template int getrf(int, double*, int*);
template void getri(int, float*, const int*, Scratch<float>&);
template void getri(int, double*, const int*, Scratch<double>&);
template void getrs(int, int, const float*, const int*, float*);
template void getrs(int, int, const double*, const int*, double*);
template void geqrf(int, int, float*, float*, Scratch<float>&);
template void geqrf(int, int, double*, double*, Scratch<double>&);
template void orgqr(int, int, float*, const float*, Scratch<float>&);
template void orgqr(int, int, double*, const double*, Scratch<double>&);
template int syevd(bool, Triangle, int, float*, float*, Scratch<float>&);
template int syevd(bool, Triangle, int, double*, double*, Scratch<double>&);
template int gesdd(int, int, float*, float*, float*, Scratch<float>&);
template int gesdd(int, int, double*, double*, double*, Scratch<double>&);
template int geev(int, float*, float*, float*, float*, Scratch<float>&);
template int geev(int, double*, double*, double*, double*, Scratch<double>&);
template void trmm(bool, Triangle, bool, int, int, float, const float*, float*);
template void trmm(bool, Triangle, bool, int, int, double, const double*, double*);
template void trsm(bool, Triangle, bool, int, int, float, const float*, float*);
template void trsm(bool, Triangle, bool, int, int, double, const double*, double*);

}  // namespace headrace::lapack
