// Groups of threads of a block that work on one row together. All threads of a block call the functions here, whatever
// they have to do, and in the same order.
#pragma once

#include "op/formula/numeric_cast.h"

namespace headrace::device {

// Of every block that works in groups.
constexpr int kBlockThreads = 256;

// kWidth threads to a group, a power of two, up to the whole block. Side by side: neighbours belong to one group.
// Across: neighbours belong to different ones, so that they read neighbouring rows that lie next to each other.
template <int kWidth, bool kAcross = false>
struct Group {
  static constexpr int kThreads = kWidth;
  static constexpr int kCount = kBlockThreads / kWidth;  // of groups of a block
  static int number() { return kAcross ? threadIdx.x % kCount : threadIdx.x / kWidth; }
  static int lane() { return kAcross ? threadIdx.x / kCount : threadIdx.x % kWidth; }

  // What combine makes of the values of all threads of the group, in an order that depends on nothing else. Every
  // thread of the group has it.
  template <class T, class Combine>
  static T combined(T mine, const Combine& combine) {
    if constexpr (kWidth == 1)
      return mine;
    else if constexpr (kAcross || sizeof(T) > 8)
      return combined_in_memory(mine, combine);
    else
      return combined_by_warps(mine, combine);
  }

 private:
  // Within warps by registers, then of the warps of the group.
  template <class T, class Combine>
  static T combined_by_warps(T mine, const Combine& combine) {
    constexpr int kWarp = 32, kWarps = kWidth / kWarp;
    for (int step = (kWidth < kWarp ? kWidth : kWarp) / 2; step > 0; step /= 2)
      mine = combine(mine, __shfl_xor_sync(~0u, mine, step));
    if constexpr (kWarps > 1) {
      __shared__ T values[kBlockThreads / kWarp];
      __syncthreads();  // an earlier call is over with them
      if (threadIdx.x % kWarp == 0) values[threadIdx.x / kWarp] = mine;
      __syncthreads();
      const T* const own = values + number() * kWarps;
      mine = own[0];
      for (int warp = 1; warp < kWarps; ++warp) mine = combine(mine, own[warp]);
    }
    return mine;
  }

  template <class T, class Combine>
  static T combined_in_memory(T mine, const Combine& combine) {
    __shared__ T values[kBlockThreads];
    T* const own = values + number() * kWidth;
    __syncthreads();  // an earlier call is over with them
    own[lane()] = mine;
    for (int step = kWidth / 2; step > 0; step /= 2) {
      __syncthreads();
      if (lane() < step) own[lane()] = combine(own[lane()], own[lane() + step]);
    }
    __syncthreads();
    return own[0];
  }
};

// Memory of the block, the same at each call. Its type says all that it depends on: kernels that are compiled apart
// have structs of one name.
template <class T, int kCount>
inline T* shared_values() {
  __shared__ T values[kCount];
  return values;
}

struct Plus {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

struct Lesser {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

// NaN before all numbers.
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return (b > a) | (b != b) ? b : a;
  }
};

}  // namespace headrace::device
