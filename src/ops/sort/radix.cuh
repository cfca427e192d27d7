// Sorting long rows digit by digit, the lowest first: each pass puts elements in the order of eight bits of their keys,
// and keeps the order of those where these are equal. What lies in the order of all digits is sorted.
//
// A pass goes over its elements once, tile by tile. Where elements of a tile go depends on all tiles before it: each
// says how many it has of each digit, and looks back until one knows of all before. Tiles are given out in order, so
// those that are waited for are at work already.
#pragma once

#include "ops/sort/ordering.cuh"

namespace headrace::device {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
constexpr int kWordsAtOnce = 8;  // that a thread looks back at, their loads under way together
static_assert(kDigits == kSortThreads, "each thread of a block takes care of one digit");

// Elements of a thread, and those that a block moves at a time: as many as its shared memory has room for.
constexpr int radix_items(size_t key_bytes, bool has_places) { return key_bytes == 8 && has_places ? 8 : 16; }
constexpr int radix_tile(size_t key_bytes, bool has_places) { return kSortThreads * radix_items(key_bytes, has_places); }

// Of one pass; `ordering` has keys and places of the pass before, or `from`.
struct RadixArguments {
  OrderingArguments ordering;
  // Of each row, pass and digit: how many elements have it, then where the first of them goes.
  uint32_t* begins;
  // Of each tile of each row and digit: how many elements have it, in the tile or in all up to it, see TileCount.
  uint64_t* tile_counts;
  uint32_t* tickets;  // tiles that have been given out, of each pass
  int64_t cleared;    // words of 32 bits from `begins` on that are to be zero
  int64_t pass, passes;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"

namespace headrace::device {

inline void radix_clear(const RadixArguments& a) {
  for (int64_t i = first_of_thread(); i < a.cleared; i += all_threads()) a.begins[i] = 0;
}

template <class Key>
inline unsigned digit_of(Key key, int64_t pass) {
  return static_cast<unsigned>(key >> (kDigitBits * pass)) % kDigits;
}

inline int64_t radix_tiles(const OrderingArguments& a, int tile) { return (a.length + tile - 1) / tile; }

// How many elements have each digit, of all passes at once.
template <class T, bool kHasPlaces>
inline void radix_counts(const RadixArguments& r) {
  constexpr int kPasses = sizeof(KeyFor<T>) * 8 / kDigitBits;
  const OrderingArguments& a = r.ordering;
  __shared__ uint32_t counts[kPasses][kDigits];
  constexpr int kTile = radix_tile(sizeof(KeyFor<T>), kHasPlaces);
  const int64_t tiles = radix_tiles(a, kTile);
  for (int64_t piece = blockIdx.x; piece < a.rows * tiles; piece += gridDim.x) {
    const int64_t row = piece / tiles, begin = piece % tiles * kTile;
    const int64_t end = begin + kTile < a.length ? begin + kTile : a.length;
    for (int pass = 0; pass < kPasses; ++pass) counts[pass][threadIdx.x] = 0;
    __syncthreads();
    for (int64_t i = begin + threadIdx.x; i < end; i += kSortThreads) {
      const KeyFor<T> key = key_of_element<T, kHasPlaces>(a, row, i);
      for (int pass = 0; pass < kPasses; ++pass) atomicAdd(&counts[pass][digit_of(key, pass)], 1u);
    }
    __syncthreads();
    for (int pass = 0; pass < kPasses; ++pass)
      if (counts[pass][threadIdx.x] > 0)
        atomicAdd(&r.begins[(row * kPasses + pass) * kDigits + threadIdx.x], counts[pass][threadIdx.x]);
    __syncthreads();
  }
}

// Of one value of each thread of a block: the sum of those of the threads before.
inline uint32_t sum_before(uint32_t value) {
  __shared__ uint32_t sums[kSortThreads];
  uint32_t sum = value;
  for (int step = 1; step < kSortThreads; step *= 2) {
    __syncthreads();
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= step) sum += sums[threadIdx.x - step];
  }
  __syncthreads();
  return sum - value;
}

// From counts to where the first element of each digit goes.
inline void radix_begins(const RadixArguments& r) {
  for (int64_t piece = blockIdx.x; piece < r.ordering.rows * r.passes; piece += gridDim.x) {
    uint32_t& count = r.begins[piece * kDigits + threadIdx.x];
    count = sum_before(count);
  }
}

// A word that is written and read at once. What a pass finds of an earlier pass it takes for nothing.
struct TileCount {
  static constexpr int kStateBit = 56;  // how many elements below it, above it twice the pass, and:
  enum State : uint64_t { kOfTile = 1, kOfAll = 2 };

  static uint64_t word(int64_t pass, State state, uint64_t count) {
    return (static_cast<uint64_t>(2 * pass) + state) << kStateBit | count;
  }
  static uint64_t count(uint64_t word) { return word & ((uint64_t{1} << kStateBit) - 1); }
  static bool is(uint64_t word, int64_t pass, State state) {
    return word >> kStateBit == static_cast<uint64_t>(2 * pass) + state;
  }
};

// How many elements of the tiles before this one of its row have the digit, of which this one has `count`. `words`: of
// the digit, one for each tile so far, kDigits apart.
inline uint64_t count_before(volatile uint64_t* words, int64_t tile, int64_t pass, uint64_t count) {
  if (tile > 0) words[tile * kDigits] = TileCount::word(pass, TileCount::kOfTile, count);
  uint64_t before = 0;
  bool is_all = false;
  for (int64_t earlier = tile - 1; earlier >= 0 && !is_all;) {
    uint64_t seen[kWordsAtOnce];
#pragma unroll
    for (int k = 0; k < kWordsAtOnce; ++k) seen[k] = earlier - k >= 0 ? words[(earlier - k) * kDigits] : 0;
#pragma unroll
    for (int k = 0; k < kWordsAtOnce; ++k) {
      is_all = TileCount::is(seen[k], pass, TileCount::kOfAll);
      if (!is_all && !TileCount::is(seen[k], pass, TileCount::kOfTile)) break;
      before += TileCount::count(seen[k]);
      --earlier;
      if (is_all) break;
    }
  }
  words[tile * kDigits] = TileCount::word(pass, TileCount::kOfAll, before + count);
  return before;
}

// The elements of one tile in the order of a digit. A warp has neighbouring elements, of which a thread has every 32nd.
template <class Key, bool kHasPlaces>
struct RadixTile {
  static constexpr int kWarp = 32, kWarps = kSortThreads / kWarp;
  static constexpr int kItems = radix_items(sizeof(Key), kHasPlaces), kElements = radix_tile(sizeof(Key), kHasPlaces);
  Key keys[kElements];
  uint32_t places[kHasPlaces ? kElements : 1];
  uint32_t counts[kWarps][kDigits];  // of a warp; then: of the warps before it
  uint32_t starts[kDigits];          // where the elements of a digit begin in the tile
  int64_t moves[kDigits];            // from there to where they begin in the row
  uint32_t number;                   // of the tile

  static int own(int i) {
    return static_cast<int>(threadIdx.x) / kWarp * (kWarp * kItems) + i * kWarp + threadIdx.x % kWarp;
  }

  // How many elements of the warp before the thread's have the digit; calls of a warp come in the order of elements.
  uint32_t rank(unsigned digit) {
    const unsigned lane = threadIdx.x % kWarp;
    uint32_t& count = counts[threadIdx.x / kWarp][digit];
    const unsigned peers = __match_any_sync(~0u, digit);
    const auto earlier = static_cast<uint32_t>(__popc(peers & ((1u << lane) - 1)));
    const uint32_t before = count;
    __syncwarp();
    if (earlier == 0) count = before + static_cast<uint32_t>(__popc(peers));
    __syncwarp();
    return before + earlier;
  }

  // How many elements of the tile have the thread's digit; leaves where they begin.
  uint32_t total_of_digit() {
    uint32_t total = 0;
    for (int warp = 0; warp < kWarps; ++warp) {
      const uint32_t count = counts[warp][threadIdx.x];
      counts[warp][threadIdx.x] = total;
      total += count;
    }
    starts[threadIdx.x] = sum_before(total);
    return total;
  }
};

template <class T, class Position, bool kHasPlaces, bool kFromValues, Ordered kTo>
inline void radix_pass(const RadixArguments& r) {
  using Key = KeyFor<T>;
  const OrderingArguments& a = r.ordering;
  using Tile = RadixTile<Key, kHasPlaces>;
  constexpr int kItems = Tile::kItems, kElements = Tile::kElements;
  static_assert(sizeof(Tile) + kSortThreads * sizeof(uint32_t) <= kMostSharedBytes);
  __shared__ Tile tile;
  const int64_t tiles = radix_tiles(a, kElements);
  for (;;) {
    if (threadIdx.x == 0) tile.number = atomicAdd(&r.tickets[r.pass], 1u);
    for (int warp = 0; warp < tile.kWarps; ++warp) tile.counts[warp][threadIdx.x] = 0;
    __syncthreads();
    const int64_t piece = tile.number;
    if (piece >= a.rows * tiles) return;
    const int64_t row = piece / tiles, first = piece % tiles * kElements;
    const int64_t left = a.length - first, count = left < kElements ? left : kElements;
    Key keys[kItems];
    uint32_t places[kItems], ranks[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int64_t at = first + tile.own(i);
      keys[i] = static_cast<Key>(~Key{0});  // behind all others
      places[i] = 0;
      if (at >= a.length) continue;
      if constexpr (kFromValues) {
        keys[i] = key_of_element<T, kHasPlaces>(a, row, at);
        places[i] = static_cast<uint32_t>(at);
      } else {
        keys[i] = static_cast<const Key*>(a.keys)[row * a.length + at];
        if constexpr (kHasPlaces) places[i] = a.places[row * a.length + at];
      }
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) ranks[i] = tile.rank(digit_of(keys[i], r.pass));
    __syncthreads();
    uint32_t total = tile.total_of_digit();
    if (threadIdx.x == kDigits - 1) total -= static_cast<uint32_t>(kElements - count);
    const uint64_t before = count_before(r.tile_counts + row * tiles * kDigits + threadIdx.x, piece % tiles, r.pass, total);
    tile.moves[threadIdx.x] = static_cast<int64_t>(r.begins[(row * r.passes + r.pass) * kDigits + threadIdx.x] + before) -
                              tile.starts[threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const unsigned digit = digit_of(keys[i], r.pass);
      const uint32_t to = tile.starts[digit] + tile.counts[threadIdx.x / tile.kWarp][digit] + ranks[i];
      tile.keys[to] = keys[i];
      if constexpr (kHasPlaces) tile.places[to] = places[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += kSortThreads)
      put_ordered<T, Position, kHasPlaces, kTo>(a, row, i + tile.moves[digit_of(tile.keys[i], r.pass)], tile.keys[i],
                                                kHasPlaces ? tile.places[i] : 0);
    __syncthreads();
  }
}

}  // namespace headrace::device
#endif
