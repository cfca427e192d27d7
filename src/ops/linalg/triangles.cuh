// Diagonals and triangles of square matrices as vectors.
#pragma once

#include <cstdint>

namespace headrace::device {

struct MatrixPlaceArguments {
  const void* from;
  void* to;
  int64_t count, rows, length;  // count: of matrices; length: of vectors
  int64_t is_diagonal, is_upper, offset;
};

struct DiagonalLogArguments {
  const void* from;
  void* to;
  int64_t count, rows;
};

struct ScaleArguments {
  void* values;
  int64_t count;
  double factor;
};

constexpr unsigned kDiagonalThreads = 256;  // of the block that adds up a diagonal, as in op/device/group.cuh

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>

#include "op/device/grid.cuh"
#include "op/device/group.cuh"

namespace headrace::device {

// Where an element of a matrix stands in its vector; -1: nowhere.
inline int64_t place_in_vector(const MatrixPlaceArguments& a, int64_t row, int64_t column) {
  if (a.is_diagonal) return column - row == a.offset ? (row < column ? row : column) : -1;
  const int64_t line = (a.is_upper ? column : row) - a.offset, k = a.is_upper ? row : column;
  return line >= 0 && k <= line ? line * (line + 1) / 2 + k : -1;
}

template <class T>
inline void extract_places(const MatrixPlaceArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count * a.rows * a.rows; i += all_threads()) {
    const int64_t place = place_in_vector(a, i / a.rows % a.rows, i % a.rows);
    if (place >= 0)
      static_cast<T*>(a.to)[i / a.rows / a.rows * a.length + place] = static_cast<const T*>(a.from)[i];
  }
}

template <class T>
inline void make_places(const MatrixPlaceArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count * a.rows * a.rows; i += all_threads()) {
    const int64_t place = place_in_vector(a, i / a.rows % a.rows, i % a.rows);
    static_cast<T*>(a.to)[i] =
        place >= 0 ? static_cast<const T*>(a.from)[i / a.rows / a.rows * a.length + place] : T{0};
  }
}

template <class T>
inline void sum_logs_of_diagonals(const DiagonalLogArguments& a) {
  for (int64_t matrix = blockIdx.x; matrix < a.count; matrix += gridDim.x) {
    double mine = 0;
    for (int64_t i = threadIdx.x; i < a.rows; i += kBlockThreads)
      mine += std::log(static_cast<const T*>(a.from)[(matrix * a.rows + i) * a.rows + i]);
    const double sum = Group<kBlockThreads>::combined(mine, Plus());
    if (threadIdx.x == 0) static_cast<T*>(a.to)[matrix] = static_cast<T>(sum);
  }
}

template <class T>
inline void scale(const ScaleArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads())
    static_cast<T*>(a.values)[i] *= static_cast<T>(a.factor);
}

}  // namespace headrace::device
#endif
