// Sorting rows by keys, a bitonic network over rows that are made as long as a power of two.
#pragma once

#include <cstdint>

namespace headrace::device {

struct OrderArguments {
  const void* from;  // outer x length x inner
  void* to;          // as far as a kernel writes elements
  uint64_t* keys;    // rows x padded
  int64_t* positions;
  int64_t rows, length, inner, padded, k;
  uint64_t flip;          // turns the order round
  int64_t width, stride;  // of the step of the network
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <bit>

#include "op/device/group.cuh"

namespace headrace::device {

constexpr int kSegment = 2 * kBlockThreads;  // elements that a block orders in memory of its own

inline int64_t order_begin() { return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; }
inline int64_t order_step() { return gridDim.x * static_cast<int64_t>(blockDim.x); }

// Unsigned integers in the order of the values, NaN being the largest.
template <class T>
inline uint64_t key_of(T value) {
  if constexpr (std::is_same_v<T, double>) {
    const auto bits = std::bit_cast<uint64_t>(value);
    constexpr uint64_t kSign = uint64_t{1} << 63;
    return value != value ? ~uint64_t{0} : bits & kSign ? ~bits : bits | kSign;
  } else if constexpr (std::is_integral_v<T>) {
    const auto bits = static_cast<uint64_t>(value);
    return std::is_signed_v<T> ? bits ^ uint64_t { 1 } << 63 : bits;
  } else {
    const auto wide = numeric_cast<float>(value);
    const auto bits = std::bit_cast<uint32_t>(wide);
    constexpr uint32_t kSign = uint32_t{1} << 31;
    return wide != wide ? ~uint64_t{0} : bits & kSign ? static_cast<uint32_t>(~bits) : bits | kSign;
  }
}

// What is `place` along a row of `length` of an array.
inline int64_t element_of(const OrderArguments& a, int64_t row, int64_t place, int64_t length) {
  return (row / a.inner * length + place) * a.inner + row % a.inner;
}

// kOneZero: a zero with a sign counts as the one without, so that their positions decide.
template <class T, bool kOneZero>
inline void make_keys(const OrderArguments& a) {
  for (int64_t i = order_begin(); i < a.rows * a.padded; i += order_step()) {
    const int64_t place = i % a.padded;
    a.positions[i] = place;
    a.keys[i] = ~uint64_t{0};
    if (place >= a.length) continue;
    const T value = static_cast<const T*>(a.from)[element_of(a, i / a.padded, place, a.length)];
    a.keys[i] = key_of(kOneZero && value == T{} ? T{} : value) ^ a.flip;
  }
}

// Of two pairs, `low` before `high`, brings that to the front which belongs there in a stretch of `width` elements of
// which `place` is one: stretches go up and down by turns.
inline void exchange(uint64_t* keys, int64_t* positions, int64_t low, int64_t high, bool ascends) {
  const bool is_after = keys[low] != keys[high] ? keys[low] > keys[high] : positions[low] > positions[high];
  if (is_after != ascends) return;
  const uint64_t key = keys[low];
  keys[low] = keys[high];
  keys[high] = key;
  const int64_t position = positions[low];
  positions[low] = positions[high];
  positions[high] = position;
}

// One step, for stretches that are too long for a block.
inline void order_far(const OrderArguments& a) {
  for (int64_t i = order_begin(); i < a.rows * a.padded / 2; i += order_step()) {
    const int64_t low = i / a.stride * 2 * a.stride + i % a.stride;
    exchange(a.keys, a.positions, low, low + a.stride, (low % a.padded & a.width) == 0);
  }
}

// The steps within segments: all for stretches of up to kSegment, or the last ones for longer stretches.
template <bool kFirst>
inline void order_near(const OrderArguments& a) {
  __shared__ uint64_t keys[kSegment];
  __shared__ int64_t positions[kSegment];
  const int64_t size = a.rows * a.padded;
  for (int64_t begin = blockIdx.x * static_cast<int64_t>(kSegment); begin < size;
       begin += gridDim.x * static_cast<int64_t>(kSegment)) {
    for (int k = threadIdx.x; k < kSegment && begin + k < size; k += kBlockThreads) {
      keys[k] = a.keys[begin + k];
      positions[k] = a.positions[begin + k];
    }
    for (int64_t width = kFirst ? 2 : a.width; width <= (kFirst ? kSegment : a.width); width *= 2) {
      if (width > a.padded) break;
      for (int64_t stride = kFirst ? width / 2 : kSegment / 2; stride > 0; stride /= 2) {
        __syncthreads();
        const int64_t low = threadIdx.x / stride * 2 * stride + threadIdx.x % stride;
        if (begin + low + stride < size)
          exchange(keys, positions, low, low + stride, ((begin + low) % a.padded & width) == 0);
      }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < kSegment && begin + k < size; k += kBlockThreads) {
      a.keys[begin + k] = keys[k];
      a.positions[begin + k] = positions[k];
    }
    __syncthreads();
  }
}

// Calls f(row, place in the order, place along the row) for the first k of each row.
template <class F>
inline void for_each_first(const OrderArguments& a, const F& f) {
  for (int64_t i = order_begin(); i < a.rows * a.k; i += order_step())
    f(i / a.k, i % a.k, a.positions[i / a.k * a.padded + i % a.k]);
}

// Elements are only moved, so T is an unsigned integer of their size.
template <class T>
inline void take_first(const OrderArguments& a) {
  for_each_first(a, [&](int64_t row, int64_t place, int64_t from) {
    static_cast<T*>(a.to)[element_of(a, row, place, a.k)] =
        static_cast<const T*>(a.from)[element_of(a, row, from, a.length)];
  });
}

template <class T>
inline void place_first(const OrderArguments& a) {
  for_each_first(a, [&](int64_t row, int64_t place, int64_t from) {
    static_cast<T*>(a.to)[element_of(a, row, place, a.k)] = numeric_cast<T>(from);
  });
}

template <class T>
inline void mark_first(const OrderArguments& a) {
  for_each_first(a, [&](int64_t row, int64_t, int64_t from) {
    static_cast<T*>(a.to)[element_of(a, row, from, a.length)] = numeric_cast<T>(1.0);
  });
}

}  // namespace headrace::device
#endif
