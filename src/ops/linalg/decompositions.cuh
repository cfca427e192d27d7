// What goes before and after the library that decomposes matrices: packed stacks, row by row.
#pragma once

#include <cstdint>

namespace headrace::device {

// The triangle that is kept is copied to the other one.
struct MirrorArguments {
  void* matrices;
  int64_t count, rows, keeps_lower;
};

// Matrices of `size` elements, of which `info` has a number each: where that is not 0 they are filled with `value`.
struct JudgedArguments {
  void* matrices;
  const int32_t* info;
  int64_t count, size;
  double value;
};

// From LU factors and pivots, counted from 1. No `logs`: determinants go where signs go otherwise.
struct DeterminantArguments {
  const void* factors;
  const int32_t* pivots;
  void *signs, *logs;
  int64_t count, rows;
};

struct DiagonalArguments {
  const void* matrices;
  int32_t* info;
  int64_t count, rows;
};

struct FiniteArguments {
  void* matrices;
  int32_t* info;
  int64_t count, size;
};

// Of matrices (rows, columns); `beside`, which may be null: matrices (rows, rows) whose columns turn with the rows.
struct SignArguments {
  void *matrices, *beside;
  int64_t count, rows, columns;
};

constexpr unsigned kMatrixThreads = 256;  // of the block that a matrix or a row has, as in op/device/group.cuh

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>

#include "op/device/grid.cuh"
#include "op/device/group.cuh"

namespace headrace::device {

template <class T>
inline void mirror(const MirrorArguments& a) {
  T* const matrices = static_cast<T*>(a.matrices);
  for (int64_t i = first_of_thread(); i < a.count * a.rows * a.rows; i += all_threads()) {
    const int64_t row = i / a.rows % a.rows, column = i % a.rows;
    if (a.keeps_lower ? row < column : column < row) matrices[i] = matrices[i + (column - row) * (a.rows - 1)];
  }
}

template <class T>
inline void fill_judged(const JudgedArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count * a.size; i += all_threads())
    if (a.info[i / a.size] != 0) static_cast<T*>(a.matrices)[i] = static_cast<T>(a.value);
}

struct Times {
  double operator()(double a, double b) const { return a * b; }
};

template <class T>
inline void find_determinants(const DeterminantArguments& a) {
  for (int64_t matrix = blockIdx.x; matrix < a.count; matrix += gridDim.x) {
    double my_sign = 1, my_log = 0;
    for (int64_t i = threadIdx.x; i < a.rows; i += kBlockThreads) {
      const double x = static_cast<const T*>(a.factors)[(matrix * a.rows + i) * a.rows + i];
      if (a.pivots[matrix * a.rows + i] != i + 1) my_sign = -my_sign;
      my_sign *= x != x ? x : static_cast<double>((x > 0) - (x < 0));
      my_log += std::log(std::fabs(x));
    }
    const double sign = Group<kBlockThreads>::combined(my_sign, Times());
    const double log = Group<kBlockThreads>::combined(my_log, Plus());
    if (threadIdx.x != 0) continue;
    static_cast<T*>(a.signs)[matrix] = static_cast<T>(a.logs ? sign : sign * std::exp(log));
    if (a.logs) static_cast<T*>(a.logs)[matrix] = static_cast<T>(log);
  }
}

// `info` becomes the place of the first 0 on the diagonal of each matrix, counted from 1, and 0 where there is none.
template <class T>
inline void find_zero_on_diagonal(const DiagonalArguments& a) {
  for (int64_t matrix = blockIdx.x; matrix < a.count; matrix += gridDim.x) {
    int64_t mine = a.rows;
    for (int64_t i = threadIdx.x; i < a.rows && mine == a.rows; i += kBlockThreads)
      if (static_cast<const T*>(a.matrices)[(matrix * a.rows + i) * a.rows + i] == T{0}) mine = i;
    const int64_t first = Group<kBlockThreads>::combined(mine, Lesser());
    if (threadIdx.x == 0) a.info[matrix] = first < a.rows ? static_cast<int32_t>(first) + 1 : 0;
  }
}

// `info` becomes 1 for matrices with NaN or infinite elements, which become zeros, and 0 for others.
template <class T>
inline void take_out_unfinite(const FiniteArguments& a) {
  for (int64_t matrix = blockIdx.x; matrix < a.count; matrix += gridDim.x) {
    T* const values = static_cast<T*>(a.matrices) + matrix * a.size;
    T mine = 0;  // 0 x is 0 of finite numbers alone
    for (int64_t i = threadIdx.x; i < a.size; i += kBlockThreads) mine += values[i] * T{0};
    const bool is_finite = Group<kBlockThreads>::combined(mine, Plus()) == T{0};
    if (threadIdx.x == 0) a.info[matrix] = is_finite ? 0 : 1;
    if (!is_finite)
      for (int64_t i = threadIdx.x; i < a.size; i += kBlockThreads) values[i] = T{0};
  }
}

// The element of each row that is farthest from 0, the first of several, becomes positive.
template <class T>
inline void choose_signs(const SignArguments& a) {
  for (int64_t line = blockIdx.x; line < a.count * a.rows; line += gridDim.x) {
    T* const row = static_cast<T*>(a.matrices) + line * a.columns;
    T most = 0;
    for (int64_t i = threadIdx.x; i < a.columns; i += kBlockThreads) most = Larger()(most, std::fabs(row[i]));
    most = Group<kBlockThreads>::combined(most, Larger());
    int64_t first = a.columns;
    for (int64_t i = threadIdx.x; i < a.columns && first == a.columns; i += kBlockThreads)
      if (std::fabs(row[i]) == most) first = i;
    first = Group<kBlockThreads>::combined(first, Lesser());
    const bool turns = first < a.columns && row[first] < 0;
    __syncthreads();  // all have seen that element
    if (!turns) continue;
    for (int64_t i = threadIdx.x; i < a.columns; i += kBlockThreads) row[i] = -row[i];
    if (!a.beside) continue;
    T* const column = static_cast<T*>(a.beside) + line / a.rows * a.rows * a.rows + line % a.rows;
    for (int64_t i = threadIdx.x; i < a.rows; i += kBlockThreads) column[i * a.rows] = -column[i * a.rows];
  }
}

}  // namespace headrace::device
#endif
