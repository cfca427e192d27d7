// How much boxes overlap, and which rows of scores go with which columns.
#pragma once

#include <cstdint>

namespace headrace::device {

struct OverlapArguments {
  const void* left;
  const void* right;
  void* to;
  int64_t rows, columns, is_center;
};

struct MatchingArguments {
  const void* scores;
  const int64_t* order;  // of each matrix: the best scores first
  void* of_row;
  void* of_column;
  int64_t count, rows, columns, is_ascending, most;
  double threshold;
};

constexpr unsigned kMatchingThreads = 256;  // of the block that works on one matrix, as in op/device/group.cuh

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/device/group.cuh"
#include "ops/detection/box_overlap.h"

namespace headrace::device {

template <class Compute, class T>
inline void overlap_boxes(const OverlapArguments& a) {
  const BoxFormat format = a.is_center ? BoxFormat::kCenter : BoxFormat::kCorner;
  for (int64_t i = first_of_thread(); i < a.rows * a.columns; i += all_threads()) {
    Compute left[4], right[4];
    for (int k = 0; k < 4; ++k) {
      left[k] = numeric_cast<Compute>(static_cast<const T*>(a.left)[i / a.columns * 4 + k]);
      right[k] = numeric_cast<Compute>(static_cast<const T*>(a.right)[i % a.columns * 4 + k]);
    }
    static_cast<T*>(a.to)[i] = numeric_cast<T>(overlap(left, right, format));
  }
}

// A block looks at so many pairs as it has threads: the first that is free matches, which may take others away.
template <class Compute, class T>
inline void match_scores(const MatchingArguments& a) {
  const int64_t pairs = a.rows * a.columns;
  const auto threshold = static_cast<Compute>(a.threshold);
  const auto is_free = [](const T& match) { return numeric_cast<Compute>(match) == Compute{-1}; };
  for (int64_t matrix = blockIdx.x; matrix < a.count; matrix += gridDim.x) {
    const T* const scores = static_cast<const T*>(a.scores) + matrix * pairs;
    const int64_t* const order = a.order + matrix * pairs;
    T* const of_row = static_cast<T*>(a.of_row) + matrix * a.rows;
    T* const of_column = static_cast<T*>(a.of_column) + matrix * a.columns;
    for (int64_t k = threadIdx.x; k < a.rows; k += kBlockThreads) of_row[k] = numeric_cast<T>(Compute{-1});
    for (int64_t k = threadIdx.x; k < a.columns; k += kBlockThreads) of_column[k] = numeric_cast<T>(Compute{-1});
    __syncthreads();
    int64_t matches = 0, begin = 0;
    bool is_over = false;
    while (!is_over && begin < pairs) {
      const int64_t mine = begin + threadIdx.x, own = mine < pairs ? order[mine] : 0;
      const bool matched = mine < pairs && is_free(of_row[own / a.columns]) && is_free(of_column[own % a.columns]);
      const int64_t first = Group<kBlockThreads>::combined(matched ? mine : pairs, Lesser());
      if (first == pairs) {
        begin += kBlockThreads;
        continue;
      }
      const int64_t pair = order[first];
      const auto score = numeric_cast<Compute>(scores[pair]);
      is_over = !(a.is_ascending ? score < threshold : score > threshold);
      if (!is_over && threadIdx.x == 0) {
        of_row[pair / a.columns] = numeric_cast<T>(static_cast<Compute>(pair % a.columns));
        of_column[pair % a.columns] = numeric_cast<T>(static_cast<Compute>(pair / a.columns));
      }
      ++matches;
      if (a.most > 0 && matches > a.most) is_over = true;
      begin = first + 1;
      __syncthreads();
    }
    __syncthreads();
  }
}

}  // namespace headrace::device
#endif
