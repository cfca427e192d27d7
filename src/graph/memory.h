// Memory planning: where in one block each value lies, so that values which are never alive at once may share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

inline constexpr int64_t kSlotAlignment = 64;

struct Lifetime {
  int64_t bytes;
  int first, last;     // steps during which it is alive, both included
  int64_t offset = 0;  // the result
};

// Sets the offsets, largest values first, each into the smallest gap that fits; gives the size of the block.
int64_t assign_offsets(std::span<Lifetime> values);

}  // namespace headrace
