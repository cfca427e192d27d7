// How many threads of a GPU work on one row.
#pragma once

#include "op/launch_cuda.h"

namespace headrace {

struct RowWidth {
  static constexpr int kBlock = 256, kWarp = 32;  // a block as in op/device/group.cuh

  // Of rows of `length` elements, `inner` apart. Where they do not lie together the rows of neighbouring threads do,
  // so each thread has one of its own.
  RowWidth(int64_t length, int64_t inner) : threads(inner > 1 || length <= 4 ? 1 : length <= 1024 ? kWarp : kBlock) {}

  KernelGrid grid(int64_t rows) const {
    const int64_t per_block = kBlock / threads;
    return {blocks_for((rows + per_block - 1) / per_block), kBlock};
  }

  int threads;
};

}  // namespace headrace
