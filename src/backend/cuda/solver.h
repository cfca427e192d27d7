// Decompositions of matrices, and triangular systems, by cuSOLVER and cuBLAS: libraries that are looked up when the
// first is needed.
//
// Functions have the names and the meaning of LAPACK's, or of cuSOLVER's (gesvdj). Matrices lie column after column,
// packed, in memory of the device, and so does `info`: a number for each matrix, 0 for success, which is there when the
// stream has come there. Results take the place of arguments. Nothing of this can be captured: some functions wait for
// the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace headrace {

class CudaStream;
struct SolverHandles;

// Whether the libraries are there; where not, that is said once. Any thread.
bool has_solver();

// Matrices of equal shapes, one behind the other. `each`, memory of the device, where there are several: their
// addresses.
template <class T>
struct MatrixBatch {
  T* first;
  T** each;
  int64_t count;
};

// Whether gesvdj takes so many matrices of so many rows.
bool is_stack_of_small(int rows, int64_t count) noexcept;

enum class SolverTriangle : uint8_t { kLower, kUpper };

// What is put on the stream of the work that is being launched, by the launch thread of its device. T is float or
// double.
template <class T>
class Solver {
 public:
  using Memory = std::function<void*(size_t bytes)>;

  // `memory` gives memory of the device that belongs to the launch. Raises Error(kRuntime): the library does not take
  // the device, or launches are captured.
  Solver(CudaStream& stream, Memory memory);

  // All raise Error(kRuntime) where the library refuses a call.

  // What is in the other triangle afterwards means nothing.
  void potrf(SolverTriangle triangle, int n, const MatrixBatch<T>& a, int* info);
  void potri(SolverTriangle triangle, int n, const MatrixBatch<T>& a, int* info);
  // n pivots for each matrix, counted from 1.
  void getrf(int n, const MatrixBatch<T>& a, int* pivots, int* info);
  // op(A) X = B, b being (n, columns).
  void getrs(bool transpose, int n, int columns, const MatrixBatch<T>& lu, const int* pivots, const MatrixBatch<T>& b);
  // rows >= columns; `columns` reflectors for each matrix.
  void geqrf(int rows, int columns, const MatrixBatch<T>& a, T* reflectors, int* info);
  void orgqr(int rows, int columns, const MatrixBatch<T>& a, const T* reflectors, int* info);
  // n eigenvalues for each matrix, in ascending order; the vectors are the columns of a.
  void syevd(SolverTriangle triangle, int n, const MatrixBatch<T>& a, T* eigenvalues, int* info);
  // rows >= columns. Left vectors are the columns of a, right ones the rows of `right` (columns, columns).
  void gesvd(int rows, int columns, const MatrixBatch<T>& a, T* singular_values, T* right, int* info);
  // By Jacobi's method, of what is_stack_of_small(); rows >= columns. Vectors are the columns of `left` (rows, rows),
  // of which the first belong to the singular values, and of `right` (columns, columns). What is in `a` afterwards
  // means nothing.
  void gesvdj(int rows, int columns, const MatrixBatch<T>& a, T* singular_values, T* left, T* right, int* info);
  // op(A) X = alpha B, or X op(A) = alpha B, b being (rows, columns).
  void trsm(bool left, SolverTriangle triangle, bool transpose, int rows, int columns, T alpha, const MatrixBatch<T>& a,
            const MatrixBatch<T>& b);

 private:
  // Raises what a function of a library answered, if that is no success.
  void check(int status, const char* function) const;
  T* work(int numbers) const;

  CudaStream& stream_;
  const Memory memory_;
  const SolverHandles& handles_;
};

extern template class Solver<float>;
extern template class Solver<double>;

}  // namespace headrace
