// Running sums along the middle dimension of outer x length x inner.
#pragma once

#include <cstdint>

namespace headrace::device {

struct ScanArguments {
  const void* from;
  void* to;
  int64_t rows, length, inner, reverse;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/group.cuh"

namespace headrace::device {

// kThreads, one or a block, share out a row, each a stretch of it: its sum, then, with what is before it, its results.
template <class T, class Sum, int kThreads>
inline void running_sums(const ScanArguments& a) {
  const int64_t part = (a.length + kThreads - 1) / kThreads;
  const int lane = kThreads == 1 ? 0 : threadIdx.x;
  const int64_t step = kThreads == 1 ? gridDim.x * static_cast<int64_t>(blockDim.x) : gridDim.x;
  const int64_t first = kThreads == 1 ? blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x : blockIdx.x;
  const int64_t begin = lane * part < a.length ? lane * part : a.length,
                end = begin + part < a.length ? begin + part : a.length;
  for (int64_t row = first; row < a.rows; row += step) {
    const int64_t base = row / a.inner * a.length * a.inner + row % a.inner;
    const auto place = [&](int64_t i) { return base + (a.reverse ? a.length - 1 - i : i) * a.inner; };
    const auto term = [&](int64_t i) { return static_cast<Sum>(static_cast<const T*>(a.from)[place(i)]); };
    Sum sum{};
    if constexpr (kThreads > 1) {
      __shared__ Sum sums[kThreads];
      Sum mine{};
      for (int64_t i = begin; i < end; ++i) mine = static_cast<Sum>(mine + term(i));
      __syncthreads();
      sums[lane] = mine;
      __syncthreads();
      for (int before = 0; before < lane; ++before) sum = static_cast<Sum>(sum + sums[before]);
    }
    for (int64_t i = begin; i < end; ++i) {
      sum = static_cast<Sum>(sum + term(i));
      if constexpr (std::is_same_v<T, bool>)
        static_cast<T*>(a.to)[place(i)] = sum != 0;
      else
        static_cast<T*>(a.to)[place(i)] = numeric_cast<T>(sum);
    }
  }
}

}  // namespace headrace::device
#endif
