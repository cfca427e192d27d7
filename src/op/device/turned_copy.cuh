// Copies of elements whose neighbours lie together along one dimension where they come from and along another where
// they go: tile by tile, so that both are read and written along their neighbours.
#pragma once

#include <cstdint>

namespace headrace::device {

struct TurnedCopyArguments {
  const void* from;
  void* to;
  int64_t rows, columns;            // neighbours of `from` and of `to`: element (row, column)
  int64_t row_stride;               // of `to`; that of `from` is 1
  int64_t column_stride;            // of `from`; that of `to` is 1
  int64_t batch;                    // elements of the other dimensions
  int64_t extents[6], from_strides[6], to_strides[6];  // of those, the last one moving first
};

constexpr int kTile = 32;  // rows and columns of a tile

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/group.cuh"

namespace headrace::device {

template <class T, int kDims>
inline void turned_copy(const TurnedCopyArguments& a) {
  __shared__ T tile[kTile][kTile + 1];  // a column more, so that those of a tile lie in different banks
  constexpr int kAtOnce = kBlockThreads / kTile;
  const int lane = threadIdx.x % kTile, first = threadIdx.x / kTile;
  const int64_t row_tiles = (a.rows + kTile - 1) / kTile, tiles = row_tiles * ((a.columns + kTile - 1) / kTile);
  for (int64_t piece = blockIdx.x; piece < tiles * a.batch; piece += gridDim.x) {
    int64_t rest = piece / tiles, from_offset = 0, to_offset = 0;
    for (int d = kDims - 1; d >= 0; --d) {
      const int64_t place = rest % a.extents[d];
      rest /= a.extents[d];
      from_offset += place * a.from_strides[d];
      to_offset += place * a.to_strides[d];
    }
    const int64_t row = piece % tiles % row_tiles * kTile, column = piece % tiles / row_tiles * kTile;
    const T* const from = static_cast<const T*>(a.from) + from_offset;
    T* const to = static_cast<T*>(a.to) + to_offset;
#pragma unroll
    for (int k = first; k < kTile; k += kAtOnce)
      if (column + k < a.columns && row + lane < a.rows)
        tile[k][lane] = from[row + lane + (column + k) * a.column_stride];
    __syncthreads();
#pragma unroll
    for (int k = first; k < kTile; k += kAtOnce)
      if (row + k < a.rows && column + lane < a.columns)
        to[(row + k) * a.row_stride + column + lane] = tile[lane][k];
    __syncthreads();
  }
}

}  // namespace headrace::device
#endif
