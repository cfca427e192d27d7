// Checks: of the elements that the threads of a block look at, the first that is not as it has to be. What a block has
// found it writes for the host, which takes the first of all blocks: op/check_cuda.h.
#pragma once

#include "op/device/grid.cuh"
#include "op/device/group.cuh"

namespace headrace::device {

// Calls is_wrong(k) for each of `count` elements k that is the block's, of kBlockThreads. Every thread of the block has
// the first for which it holds, `count` where there is none.
template <class IsWrong>
inline int64_t first_wrong(int64_t count, const IsWrong& is_wrong) {
  int64_t first = count;
  for (int64_t k = first_of_thread(); k < count; k += all_threads())
    if (is_wrong(k) && first == count) first = k;
  return Group<kBlockThreads>::combined(first, Lesser());
}

}  // namespace headrace::device
