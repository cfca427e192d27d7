// Philox in bulk, for the best instruction set of this machine. Element i of a key depends on key and i alone: not on
// the range it is computed in, nor on the vector width. Any thread.
#pragma once

#include <cstdint>

namespace headrace {

// Elements come in tiles; a range begins at a multiple of this.
inline constexpr int64_t kPhiloxTile = 64;

// values[k] = offset + factor * v for the elements first + k, k < n; v is uniform in [0, 1), or normal.
template <class Real>  // float or double
void philox_uniform(uint64_t key, int64_t first, int64_t n, Real offset, Real factor, Real* values);
template <class Real>
void philox_normal(uint64_t key, int64_t first, int64_t n, Real offset, Real factor, Real* values);

// flags[k] = 1 where the uniform float of element first + k is below `bound`, else 0.
void philox_below(uint64_t key, int64_t first, int64_t n, float bound, uint8_t* flags);

// words[4 * i, ...] = a block of element first + i, i < kPhiloxBlocks, for a PhiloxStream. `first` is a multiple of
// kPhiloxBlocks.
inline constexpr int64_t kPhiloxBlocks = 48;
void philox_blocks(uint64_t key, uint64_t first, uint64_t block, uint32_t* words);

}  // namespace headrace
