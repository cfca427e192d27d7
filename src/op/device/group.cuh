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
    if constexpr (kWidth == 1) {
      return mine;
    } else if constexpr (kWidth <= 32 && !kAcross && sizeof(T) <= 8) {
      for (int step = kWidth / 2; step > 0; step /= 2) mine = combine(mine, __shfl_xor_sync(~0u, mine, step));
      return mine;
    } else {
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
