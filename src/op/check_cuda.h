// Checks of elements by a GPU: its blocks write what they have found, and the work fails when the host has seen it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "op/launch_cuda.h"

namespace headrace {

// The blocks that share a check of so many elements. Each writes a result, so they are few.
inline KernelGrid check_grid(int64_t elements) {
  constexpr unsigned kThreads = 256;  // as in op/device/group.cuh
  constexpr int64_t kOfBlock = 8 * kThreads, kMostBlocks = 128;
  return {std::clamp<int64_t>(elements / kOfBlock, 1, kMostBlocks), kThreads};
}

// Calls use(found) on a thread of the host when the stream has come here, with what the blocks of the grid have
// written by then. What it raises fails the work.
template <class Found, class Use>
void read_found(const Found* found, KernelGrid grid, Use use) {
  const auto count = static_cast<size_t>(grid.blocks);
  read_on_host(found, count * sizeof(Found),
               [count, use](const void* bytes) { use(std::span(static_cast<const Found*>(bytes), count)); });
}

// Of what blocks have found the one with the first place; null where all have -1.
template <class Found>
const Found* first_of(std::span<const Found> found) {
  const Found* first = nullptr;
  for (const Found& one : found)
    if (one.place >= 0 && (!first || one.place < first->place)) first = &one;
  return first;
}

// Calls raise(found) where a block has written a place, with the first of them.
template <class Found, class Raise>
void raise_found(const Found* found, KernelGrid grid, Raise raise) {
  read_found(found, grid, [raise](std::span<const Found> all) {
    if (const Found* const first = first_of(all)) raise(*first);
  });
}

}  // namespace headrace
