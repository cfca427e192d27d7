// The position of the largest or smallest element along the middle dimension of outer x length x inner.
#pragma once

#include <cstdint>

namespace headrace::device {

// Of a row that is cut, each part has a place, behind those of the rows' earlier parts.
struct ArgReduceArguments {
  const void* from;
  void* to;
  int64_t rows, length, inner, parts, part;
};

struct BestPartArguments {
  const void* from;
  const int64_t* places;
  void* to;
  int64_t rows, length, inner, parts;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/group.cuh"

namespace headrace::device {

// The first NaN wins, then the best value, then the first of equal ones. No place: none was seen.
template <class T, bool kLargest>
struct BetterPlace {
  using Compute = std::conditional_t<is_real<T>, std::conditional_t<std::is_same_v<T, double>, double, float>, T>;
  const T* row;
  int64_t inner;

  Compute at(int64_t place) const { return numeric_cast<Compute>(row[place * inner]); }
  // Whether y, which comes behind x, is better.
  static bool is_better(Compute y, Compute x) { return x == x && ((kLargest ? y > x : y < x) || y != y); }

  int64_t operator()(int64_t a, int64_t b) const {
    if (a < 0 || b < 0) return a < 0 ? b : a;
    const int64_t first = a < b ? a : b, second = a < b ? b : a;
    return is_better(at(second), at(first)) ? second : first;
  }

  // Of places begin, begin + step, ... before `end`. No load waits for what was seen before.
  int64_t among(int64_t begin, int64_t end, int64_t step) const {
    if (begin >= end) return -1;
    int64_t best = begin;
    Compute value = at(begin);
#pragma unroll 4
    for (int64_t i = begin + step; i < end; i += step) {
      const Compute next = at(i);
      const bool wins = is_better(next, value);
      best = wins ? i : best;
      value = wins ? next : value;
    }
    return best;
  }
};

// The row that begins here and at every `inner`-th element behind.
template <class T>
inline const T* row_at(const void* from, int64_t row, int64_t length, int64_t inner) {
  return static_cast<const T*>(from) + row / inner * length * inner + row % inner;
}

template <class T, class Position, bool kLargest, int kWidth>
inline void arg_reduce(const ArgReduceArguments& a) {
  using Threads = Group<kWidth>;
  const int64_t pieces = a.rows * a.parts;
  for (int64_t first = blockIdx.x * static_cast<int64_t>(Threads::kCount); first < pieces;
       first += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const int64_t piece = first + Threads::number();
    const int64_t seen = piece < pieces ? piece : first;  // threads without a piece repeat the block's first
    const int64_t row = seen % a.rows, begin = seen / a.rows * a.part;
    const int64_t end = begin + a.part < a.length ? begin + a.part : a.length;
    const BetterPlace<T, kLargest> better{row_at<T>(a.from, row, a.length, a.inner), a.inner};
    const int64_t best = Threads::combined(better.among(begin + Threads::lane(), end, kWidth), better);
    if (piece < pieces && Threads::lane() == 0) static_cast<Position*>(a.to)[piece] = numeric_cast<Position>(best);
  }
}

// The best of the places that arg_reduce found in the parts of each row.
template <class T, class Position, bool kLargest>
inline void best_part(const BestPartArguments& a) {
  using Threads = Group<32>;
  for (int64_t first = blockIdx.x * static_cast<int64_t>(Threads::kCount); first < a.rows;
       first += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const int64_t row = first + Threads::number();
    const int64_t seen = row < a.rows ? row : first;  // as above
    const BetterPlace<T, kLargest> better{row_at<T>(a.from, seen, a.length, a.inner), a.inner};
    int64_t best = -1;
    for (int64_t i = Threads::lane(); i < a.parts; i += Threads::kThreads)
      best = better(best, a.places[i * a.rows + seen]);
    best = Threads::combined(best, better);
    if (row < a.rows && Threads::lane() == 0) static_cast<Position*>(a.to)[row] = numeric_cast<Position>(best);
  }
}

}  // namespace headrace::device
#endif
