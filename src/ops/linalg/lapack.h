// LAPACK and BLAS, as OpenBLAS has them: the only place that knows their symbols. Any thread may call these functions;
// each call works in the calling thread alone, as tasks and parallel_for divide the work.
//
// Matrices are column-major and packed, so a row-major matrix is seen transposed. T is float or double. Results take
// the place of arguments; what is returned is LAPACK's `info`: 0 for success, otherwise what each function says.
#pragma once

#include <vector>

namespace headrace::lapack {

// Memory that functions need for themselves, grown as they need it. One for each thread; its content means nothing.
template <class T>
struct Scratch {
  std::vector<T> numbers;
  std::vector<int> integers;
};

enum class Triangle : char { kLower = 'L', kUpper = 'U' };

// The Cholesky factor in one triangle of a (n, n), which alone is read. Returns the order of the first leading minor
// that is not positive.
template <class T>
int potrf(Triangle triangle, int n, T* a);

// One triangle of the inverse of the matrix whose Cholesky factor is in that triangle of a (n, n). Returns the number,
// from 1, of the first zero on the diagonal.
template <class T>
int potri(Triangle triangle, int n, T* a);

// LU factors of a (n, n) with row exchanges, pivots[i] being counted from 1. Returns the number, from 1, of the first
// zero on the diagonal of U; the factors are complete all the same.
template <class T>
int getrf(int n, T* a, int* pivots);

// The inverse from LU factors (n, n) without zeros on the diagonal.
template <class T>
void getri(int n, T* a, const int* pivots, Scratch<T>& scratch);

// The solutions of A X = B from LU factors of A (n, n) without zeros on the diagonal; b is (n, columns).
template <class T>
void getrs(int n, int columns, const T* lu, const int* pivots, T* b);

// Of a (rows, columns), rows >= columns: R in the upper triangle, and with `reflectors` (columns numbers) what orgqr
// makes Q of.
template <class T>
void geqrf(int rows, int columns, T* a, T* reflectors, Scratch<T>& scratch);

// The orthonormal columns of Q (rows, columns) from what geqrf left in `a`.
template <class T>
void orgqr(int rows, int columns, T* a, const T* reflectors, Scratch<T>& scratch);

// Eigenvalues in ascending order of the symmetric matrix whose one triangle is in a (n, n), and, where asked for, its
// eigenvectors as the columns of a. Positive when it does not converge.
template <class T>
int syevd(bool vectors, Triangle triangle, int n, T* a, T* eigenvalues, Scratch<T>& scratch);

// Singular values in descending order of a (rows, columns), rows >= columns. The left vectors are the columns of a
// afterwards, the right ones the rows of right (columns, columns). Positive when it does not converge.
template <class T>
int gesdd(int rows, int columns, T* a, T* singular_values, T* right, Scratch<T>& scratch);

// Real and imaginary parts of the eigenvalues of a (n, n), and the right eigenvectors as the columns of `vectors`;
// null: those are not wanted. Positive when it does not converge.
template <class T>
int geev(int n, T* a, T* real, T* imaginary, T* vectors, Scratch<T>& scratch);

// Products of a matrix b (rows, columns) and a triangular one, from the left or the right: alpha op(A) B or alpha B
// op(A).
template <class T>
void trmm(bool left, Triangle triangle, bool transpose, int rows, int columns, T alpha, const T* a, T* b);

// The X of op(A) X = alpha B, or X op(A) = alpha B, in the place of b (rows, columns).
template <class T>
void trsm(bool left, Triangle triangle, bool transpose, int rows, int columns, T alpha, const T* a, T* b);

}  // namespace headrace::lapack
