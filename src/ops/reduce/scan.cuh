// Running sums along the middle dimension of outer x length x inner.
#pragma once

#include <cstdint>

namespace headrace::device {

constexpr int kScanItems = 8;  // of a thread at a time

// Elements count from where sums begin.
struct ScanArguments {
  const void* from;
  void* to;
  void* totals;  // of each chunk of each row, in the type of sums; null where rows are not cut
  int64_t rows, length, inner;
  int64_t chunks, chunk;  // of a row, elements of one
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/group.cuh"

namespace headrace::device {

template <class T>
using ScanSum = std::conditional_t<is_real<T>, double, uint64_t>;  // integers wrap

template <class T>
inline ScanSum<T> scan_term(T x) {
  if constexpr (is_real<T>)
    return numeric_cast<double>(x);
  else
    return static_cast<uint64_t>(x);
}

// A chunk of a row: where it begins and ends, and where its elements lie. Neighbours among the pieces are neighbours in
// memory.
template <bool kReverse>
struct ScanChunk {
  bool is_there;
  int64_t row, number, begin, end, first, step;

  ScanChunk(const ScanArguments& a, int64_t piece)
      : is_there(piece < a.rows * a.chunks),
        row(a.inner > 1 ? piece % a.rows : piece / a.chunks),
        number(a.inner > 1 ? piece / a.rows : piece % a.chunks),
        begin(number * a.chunk) {
    end = begin + a.chunk < a.length ? begin + a.chunk : a.length;
    first = row / a.inner * a.length * a.inner + row % a.inner;
    step = a.inner;
    if (!is_there) end = begin;
    if constexpr (kReverse) {
      first += (a.length - 1) * a.inner;
      step = -a.inner;
    }
  }
  int64_t place(int64_t i) const { return first + i * step; }
  // Of its sum among those of all.
  int64_t total(const ScanArguments& a) const { return row * a.chunks + number; }
};

// kWidth threads to a chunk, see Group.
template <class T, bool kReverse, int kWidth>
inline void scan_totals(const ScanArguments& a) {
  using Threads = Group<kWidth>;
  for (int64_t piece = blockIdx.x * static_cast<int64_t>(Threads::kCount); piece < a.rows * a.chunks;
       piece += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const ScanChunk<kReverse> chunk(a, piece + Threads::number());
    ScanSum<T> sum{};
    for (int64_t i = chunk.begin + Threads::lane(); i < chunk.end; i += kWidth)
      sum += scan_term(static_cast<const T*>(a.from)[chunk.place(i)]);
    sum = Threads::combined(sum, Plus());
    if (chunk.is_there && Threads::lane() == 0) static_cast<ScanSum<T>*>(a.totals)[chunk.total(a)] = sum;
  }
}

// The sum of the values of the threads before this one in its group, and of all of the group.
template <int kWidth, class Sum>
inline Sum sum_before(Sum mine, Sum& all) {
  if constexpr (kWidth == 1) {
    all = mine;
    return Sum{};
  } else {
    __shared__ Sum sums[kBlockThreads];
    const int lane = threadIdx.x % kWidth;
    Sum* const own = sums + threadIdx.x - lane;
    own[lane] = mine;
    for (int step = 1; step < kWidth; step *= 2) {
      __syncthreads();
      const Sum other = lane >= step ? own[lane - step] : Sum{};
      __syncthreads();
      own[lane] += other;
    }
    __syncthreads();
    all = own[kWidth - 1];
    const Sum before = lane > 0 ? own[lane - 1] : Sum{};
    __syncthreads();
    return before;
  }
}

template <class T, bool kReverse, int kWidth>
inline void scan(const ScanArguments& a) {
  using Threads = Group<kWidth>;
  using Sum = ScanSum<T>;
  constexpr int kTile = kWidth * kScanItems;  // elements that a group sums at a time
  // Padded, so that threads that each walk through their own meet different banks.
  constexpr int kAll = kBlockThreads * kScanItems;
  __shared__ T tile[kAll + kAll / 32];
  const int own = Threads::number() * kTile, mine = threadIdx.x * kScanItems;
  const auto at = [](int i) { return i + i / 32; };
  for (int64_t piece = blockIdx.x * static_cast<int64_t>(Threads::kCount); piece < a.rows * a.chunks;
       piece += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const ScanChunk<kReverse> chunk(a, piece + Threads::number());
    Sum start{};
    if (a.totals && chunk.is_there)
      for (int64_t c = chunk.row * a.chunks; c < chunk.total(a); ++c) start += static_cast<const Sum*>(a.totals)[c];
    for (int64_t done = 0; done < a.chunk; done += kTile) {  // for all groups of the block alike
      const int64_t first = chunk.begin + done;
      for (int i = Threads::lane(); i < kTile; i += kWidth)
        tile[at(own + i)] = first + i < chunk.end ? static_cast<const T*>(a.from)[chunk.place(first + i)] : T{};
      __syncthreads();
      Sum sums[kScanItems], sum{};
#pragma unroll
      for (int i = 0; i < kScanItems; ++i) sums[i] = sum += scan_term(tile[at(mine + i)]);
      Sum all;
      const Sum before = start + sum_before<kWidth>(sum, all);
#pragma unroll
      for (int i = 0; i < kScanItems; ++i) tile[at(mine + i)] = numeric_cast<T>(before + sums[i]);
      start += all;
      __syncthreads();
      for (int i = Threads::lane(); i < kTile && first + i < chunk.end; i += kWidth)
        static_cast<T*>(a.to)[chunk.place(first + i)] = tile[at(own + i)];
      __syncthreads();
    }
  }
}

}  // namespace headrace::device
#endif
