// Keys apart by size, which lets threads sort them side by side.
#pragma once

#include <cstdint>

namespace headrace {

// Writes the keys that are less than `pivot` to the beginning of `to`, the others behind them, both in any order. Gives
// how many are less. The arrays do not overlap.
int64_t split(const uint32_t* from, uint32_t* to, int64_t n, uint32_t pivot) noexcept;
int64_t split(const uint64_t* from, uint64_t* to, int64_t n, uint64_t pivot) noexcept;

}  // namespace headrace
