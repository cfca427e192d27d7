// How many threads of a GPU work on one row, and into how many parts a long one is cut.
#pragma once

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "op/kernel.h"
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

  // The work of so many blocks.
  int64_t blocks(int64_t rows) const { return (rows * threads + kBlock - 1) / kBlock; }
  KernelGrid grid(int64_t rows) const { return {blocks_for(blocks(rows)), kBlock}; }

  // How many neighbours of a row a thread loads at once from arrays whose rows lie one behind the other; 1 where
  // elements or rows of one of them do not begin at multiples of a pack.
  int pack(std::initializer_list<const Tensor*> arrays) const {
    if (threads == 1) return 1;
    size_t most = 1;
    for (const Tensor* array : arrays) most = std::max(most, item_size(array->dtype));
    const size_t pack = kPackBytes / most;
    const auto fits = [&](const Tensor* array) {
      return reinterpret_cast<uintptr_t>(array->data) % (pack * item_size(array->dtype)) == 0;
    };
    return length_ % static_cast<int64_t>(pack) == 0 && std::ranges::all_of(arrays, fits) ? static_cast<int>(pack) : 1;
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

// What one result is made of, cut for several groups of threads where the results alone would leave a GPU idle. It
// follows from how operands lie, so that sums do not depend on the GPU.
struct RowParts {
  // Of `elements`, which so many threads would go through together, all results being the work of `blocks`. A part is
  // a multiple of `whole` elements, but for the last.
  RowParts(int64_t elements, int64_t threads, int64_t blocks, int64_t whole = 1) {
    constexpr int64_t kManyThreads = 256 * 1024;  // so many keep any GPU busy
    constexpr int64_t kLeastOfThread = 16;        // elements, below which no more threads are worth it
    constexpr int64_t kMost = 1024;
    const int64_t wanted =
        std::min({elements / (kLeastOfThread * threads), kManyThreads / (RowWidth::kBlock * blocks), kMost});
    length = wanted <= 1 ? elements : (elements + wanted * whole - 1) / (wanted * whole) * whole;
    count = wanted <= 1 ? 1 : (elements + length - 1) / length;
  }

  int64_t count, length;
};

}  // namespace headrace
