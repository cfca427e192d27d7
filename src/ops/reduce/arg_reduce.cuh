// The position of the largest or smallest element along the middle dimension of outer x length x inner.
#pragma once

#include <cstdint>

namespace headrace::device {

struct ArgReduceArguments {
  const void* from;
  void* to;
  int64_t rows, length, inner;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/group.cuh"

namespace headrace::device {

// The first NaN wins, then the best value, then the first of equal ones. No place: none was seen.
template <class T, bool kLargest>
struct BetterPlace {
  const T* row;
  int64_t inner;

  int64_t operator()(int64_t a, int64_t b) const {
    if (a < 0 || b < 0) return a < 0 ? b : a;
    const int64_t first = a < b ? a : b, second = a < b ? b : a;
    const auto x = numeric_cast<Compute>(row[first * inner]), y = numeric_cast<Compute>(row[second * inner]);
    return x == x && ((kLargest ? y > x : y < x) || y != y) ? second : first;
  }
  using Compute = std::conditional_t<is_real<T>, std::conditional_t<std::is_same_v<T, double>, double, float>, T>;
};

template <class T, class Position, bool kLargest, int kWidth>
inline void arg_reduce(const ArgReduceArguments& a) {
  using Threads = Group<kWidth>;
  for (int64_t first = blockIdx.x * static_cast<int64_t>(Threads::kCount); first < a.rows;
       first += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const int64_t row = first + Threads::number();
    const int64_t seen = row < a.rows ? row : first;  // threads without a row repeat the block's first
    const BetterPlace<T, kLargest> better{
        static_cast<const T*>(a.from) + seen / a.inner * a.length * a.inner + seen % a.inner, a.inner};
    int64_t best = -1;
    for (int64_t i = Threads::lane(); i < a.length; i += kWidth) best = better(best, i);
    best = Threads::combined(best, better);
    if (row < a.rows && Threads::lane() == 0) static_cast<Position*>(a.to)[row] = numeric_cast<Position>(best);
  }
}

}  // namespace headrace::device
#endif
