// What the compiler of kernels knows without being told, for the host's compiler. Compiled beforehand, with the headers
// of the standard library that kernels use: they take most of the time that a kernel needs.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "block.h"

#define __global__
#define __device__
#define __host__
// Blocks of one stream run one after the other, each on one thread of the host.
#define __shared__ static thread_local

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};
inline thread_local Dim gridDim, blockDim, blockIdx, index_of_thread;
inline thread_local stand_in::Threads* threads_of_block = nullptr;

#if defined(__SANITIZE_THREAD__)
// The threads of a block share this memory, each of them has its own number: ThreadSanitizer is not to look.
#define HIDDEN_FROM_SANITIZER __attribute__((no_sanitize("thread"), noinline))
HIDDEN_FROM_SANITIZER inline Dim thread_index() { return index_of_thread; }
#define threadIdx thread_index()
#else
#define HIDDEN_FROM_SANITIZER
#define threadIdx index_of_thread
#endif
HIDDEN_FROM_SANITIZER inline void set_thread_index(unsigned x, unsigned y, unsigned z) { index_of_thread = {x, y, z}; }

inline void wait_at(stand_in::Barrier barrier) {
  const Dim self = threadIdx;
  threads_of_block->wait(barrier);
  set_thread_index(self.x, self.y, self.z);
}
inline void __syncthreads() { wait_at(stand_in::Barrier::kBlock); }
inline void __syncwarp(unsigned = ~0u) { wait_at(stand_in::Barrier::kWarp); }

inline constexpr unsigned kMostThreads = 1024;
inline thread_local uint64_t values_of_lanes[kMostThreads];

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  const unsigned other = threadIdx.x ^ static_cast<unsigned>(lanes);
  if (mask != ~0u || blockDim.x % 32 != 0 || lanes >= 32) threads_of_block->fail("__shfl_xor_sync of part of a warp");
  std::memcpy(&values_of_lanes[threadIdx.x], &value, sizeof value);
  __syncwarp();
  T result;
  std::memcpy(&result, &values_of_lanes[other], sizeof result);
  __syncwarp();
  return result;
}

inline unsigned __match_any_sync(unsigned mask, unsigned value) {
  const unsigned first = threadIdx.x / 32 * 32;
  if (mask != ~0u || blockDim.x % 32 != 0) threads_of_block->fail("__match_any_sync of part of a warp");
  values_of_lanes[threadIdx.x] = value;
  __syncwarp();
  unsigned same = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (values_of_lanes[first + lane] == value) same |= 1u << lane;
  __syncwarp();
  return same;
}

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

// Threads of a block take turns, and so do the blocks of a stream.
template <class T>
HIDDEN_FROM_SANITIZER inline T atomicAdd(T* to, std::type_identity_t<T> value) {
  const T before = *to;
  *to += value;
  return before;
}

// Of the block that runs: what kernels declare without a size (extern __shared__ float values[]).
inline thread_local std::vector<std::max_align_t> shared_memory;
template <class T>
T* shared_array() {
  return reinterpret_cast<T*>(shared_memory.data());
}

template <class... Arguments>
struct BoundKernel {
  void (*kernel)(Arguments...);
  std::tuple<std::remove_cvref_t<Arguments>...> arguments;

  static void run(void* self, unsigned thread) {
    const auto& bound = *static_cast<const BoundKernel*>(self);
    set_thread_index(thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / (blockDim.x * blockDim.y));
    std::apply(bound.kernel, bound.arguments);
  }
};

// The argument behind `at` of those that lie as the members of a struct do.
template <class T>
T take_argument(const char* arguments, size_t& at) {
  static_assert(std::is_trivially_copyable_v<T>);
  at = (at + alignof(T) - 1) / alignof(T) * alignof(T);
  T value;
  std::memcpy(&value, arguments + at, sizeof value);
  at += sizeof value;
  return value;
}

template <class... Arguments>
void run_on_host(void (*kernel)(Arguments...), const stand_in::Extents& extents, const void* arguments,
                 stand_in::Threads& threads) {
  const auto& [blocks, counts, shared_bytes] = extents;
  gridDim = {blocks[0], blocks[1], blocks[2]};
  blockDim = {counts[0], counts[1], counts[2]};
  threads_of_block = &threads;
  shared_memory.assign(shared_bytes / sizeof(std::max_align_t) + 1, {});
  size_t at = 0;
  const auto* const bytes = static_cast<const char*>(arguments);
  BoundKernel<Arguments...> bound{kernel, {take_argument<std::remove_cvref_t<Arguments>>(bytes, at)...}};
  for (blockIdx.z = 0; blockIdx.z < blocks[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < blocks[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < blocks[0]; ++blockIdx.x)
        threads.run(counts[0] * counts[1] * counts[2], bound.run, &bound);
}
