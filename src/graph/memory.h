// Memory planning: where in one block each value lies, so that values which are never alive at once may share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

inline constexpr int64_t kSlotAlignment = 64;

// So many bytes with those up to the next value.
constexpr int64_t in_slots(int64_t bytes) noexcept {
  return (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

inline constexpr int64_t kAnywhere = -1;

struct Lifetime {
  int64_t bytes;
  int first, last;             // steps during which it is alive, both included
  int64_t offset = kAnywhere;  // the result; of a value that lies somewhere already, where that is
};

// Sets the offsets that are kAnywhere, largest values first, each into the smallest gap that fits; gives the size of
// the block.
int64_t assign_offsets(std::span<Lifetime> values);

}  // namespace headrace
