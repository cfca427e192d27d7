// How many threads of a GPU work on one row.
#pragma once

#include <bit>

#include "op/launch_cuda.h"

namespace headrace {

struct RowWidth {
  static constexpr int kBlock = 256, kWarp = 32;  // a block as in op/device/group.cuh

  // Of rows of `length` elements, `inner` apart. Where they do not lie together the rows of neighbouring threads do,
  // so each thread has one of its own.
  RowWidth(int64_t length, int64_t inner)
      : threads(inner > 1 || length <= 4 ? 1
                : length <= 1024         ? kWarp
                                         : kBlock),
        length_(length) {}

  KernelGrid grid(int64_t rows) const {
    const int64_t per_block = kBlock / threads;
    return {blocks_for((rows + per_block - 1) / per_block), kBlock};
  }

  // How many elements of a row each thread holds in registers, of so many arrays; 0: there are too many.
  int held(size_t arrays) const {
    constexpr int64_t kMost = 32;
    const int64_t own = (length_ + threads - 1) / threads;
    if (threads == 1 || own * static_cast<int64_t>(arrays) > kMost) return 0;
    return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(own)));
  }

  int threads;

 private:
  int64_t length_;
};

}  // namespace headrace
