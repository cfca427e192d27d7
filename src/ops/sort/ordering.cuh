// Sorting along the middle dimension of outer x length x inner: rows, or tiles of long ones, in shared memory, then
// merges of sorted runs. All of it is stable: positions of equal keys ascend.
#pragma once

#include <cstdint>

namespace headrace::device {

constexpr int kSortThreads = 256, kSortItems = 8;     // of a block, of a thread
constexpr int kSortTile = kSortThreads * kSortItems;  // elements that a block sorts or merges at a time

// What becomes of elements in order. kRuns: keys, and positions, for a further pass.
enum class Ordered { kRuns, kValues, kFirst, kMask };

struct OrderingArguments {
  const void* from;
  void *values, *positions;  // the results, null: not wanted; kMask: `values`, zeros so far
  int64_t rows, length, inner;
  int64_t kept;   // how many of each row are results
  uint64_t flip;  // KeyOf's
  // Of one pass, which begins with keys and positions of an earlier one, or with `from`.
  const void* keys;
  const uint32_t* places;
  void* next_keys;
  uint32_t* next_places;
  int64_t count, next_count;  // elements of a row
  int64_t width;              // of tiles, a power of two from kSortItems to kSortTile; merges: of sorted runs
  int64_t kept_of_tile;       // kRuns
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/group.cuh"
#include "ops/sort/key_of.h"

namespace headrace::device {

// What an element is compared as.
template <class T>
using Compared = std::conditional_t<is_real<T>, std::conditional_t<std::is_same_v<T, double>, double, float>,
                                    std::conditional_t<sizeof(T) == 8 || std::is_same_v<T, uint32_t>, T, int32_t>>;
template <class T>
using KeyFor = typename KeyOf<Compared<T>>::Key;

// Elements that a block works on. Padded, so that threads that each walk through their own meet different banks.
template <class Key, bool kHasPlaces>
struct SortTile {
  static constexpr int kPadded = kSortTile + kSortTile / 32;
  Key keys[kPadded];
  uint32_t places[kHasPlaces ? kPadded : 1];

  static int at(int i) { return i + i / 32; }
  void set(int i, Key key, uint32_t place) {
    keys[at(i)] = key;
    if constexpr (kHasPlaces) places[at(i)] = place;
  }
  uint32_t place(int i) const {
    if constexpr (kHasPlaces)
      return places[at(i)];
    else
      return 0;
  }
};

// How many of the first `count` elements of a merge come from `a`: f(i) are its keys, g(i) those of `b`.
template <class Index, class F, class G>
inline Index merged_from_first(Index count, Index a_count, Index b_count, const F& f, const G& g) {
  Index least = count > b_count ? count - b_count : 0, most = count < a_count ? count : a_count;
  while (least < most) {
    const Index middle = (least + most) / 2;
    if (g(count - 1 - middle) < f(middle))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

// The elements of one thread, in order.
template <class Key, bool kHasPlaces>
struct SortRun {
  using Tile = SortTile<Key, kHasPlaces>;
  Key keys[kSortItems];
  uint32_t places[kSortItems];

  void load(const Tile& tile) {
#pragma unroll
    for (int i = 0; i < kSortItems; ++i) {
      keys[i] = tile.keys[Tile::at(threadIdx.x * kSortItems + i)];
      places[i] = tile.place(threadIdx.x * kSortItems + i);
    }
  }
  void store(Tile& tile) const {
#pragma unroll
    for (int i = 0; i < kSortItems; ++i) tile.set(threadIdx.x * kSortItems + i, keys[i], places[i]);
  }
  void sort() {
#pragma unroll
    for (int round = 0; round < kSortItems; ++round) {
#pragma unroll
      for (int i = round % 2; i + 1 < kSortItems; i += 2) {
        const bool turn = keys[i + 1] < keys[i];
        const Key key = keys[i];
        const uint32_t place = places[i];
        keys[i] = turn ? keys[i + 1] : key;
        keys[i + 1] = turn ? key : keys[i + 1];
        places[i] = turn ? places[i + 1] : place;
        places[i + 1] = turn ? place : places[i + 1];
      }
    }
  }
  // Elements [first, first + kSortItems) of the merge of tile[a, b) and tile[b, end).
  void merge(const Tile& tile, int a, int b, int end, int first) {
    const int middle = b;
    const int taken = merged_from_first(
        first, b - a, end - b, [&](int i) { return tile.keys[Tile::at(a + i)]; },
        [&](int i) { return tile.keys[Tile::at(b + i)]; });
    a += taken;
    b += first - taken;
#pragma unroll
    for (int i = 0; i < kSortItems; ++i) {
      if (a >= middle && b >= end) return;
      const bool from_b = a >= middle || (b < end && tile.keys[Tile::at(b)] < tile.keys[Tile::at(a)]);
      const int next = from_b ? b++ : a++;
      keys[i] = tile.keys[Tile::at(next)];
      places[i] = tile.place(next);
    }
  }
};

// Where element `i` of a row lies among `length` of each.
inline int64_t element_of_row(int64_t row, int64_t i, int64_t length, int64_t inner) {
  return (row / inner * length + i) * inner + row % inner;
}

// Element `i` of what a pass makes of a row.
template <class T, class Position, bool kHasPlaces, Ordered kTo>
inline void put_ordered(const OrderingArguments& a, int64_t row, int64_t i, KeyFor<T> key, uint32_t place) {
  if constexpr (kTo == Ordered::kRuns) {
    static_cast<KeyFor<T>*>(a.next_keys)[row * a.next_count + i] = key;
    if constexpr (kHasPlaces) a.next_places[row * a.next_count + i] = place;
  } else if (i < a.kept) {
    T* const values = static_cast<T*>(a.values);
    const int64_t to = element_of_row(row, i, a.kept, a.inner);
    const int64_t from = element_of_row(row, place, a.length, a.inner);
    if constexpr (kTo == Ordered::kValues) {
      values[to] = numeric_cast<T>(KeyOf<Compared<T>>::decode(key, static_cast<KeyFor<T>>(a.flip)));
    } else if constexpr (kTo == Ordered::kMask) {
      values[from] = numeric_cast<T>(1);
    } else {
      if (values) values[to] = static_cast<const T*>(a.from)[from];
      if (a.positions) static_cast<Position*>(a.positions)[to] = numeric_cast<Position>(static_cast<int64_t>(place));
    }
  }
}

template <class T, bool kHasPlaces>
inline KeyFor<T> key_of_element(const OrderingArguments& a, int64_t row, int64_t i) {
  using K = KeyOf<Compared<T>>;
  const auto value =
      numeric_cast<Compared<T>>(static_cast<const T*>(a.from)[element_of_row(row, i, a.length, a.inner)]);
  const auto flip = static_cast<KeyFor<T>>(a.flip);
  if constexpr (kHasPlaces)
    return K::pair(value, flip, 0).key;
  else
    return K::encode(value, flip);
}

// Sorts each tile of each row; a block has several where they are narrow.
template <class T, class Position, bool kHasPlaces, bool kFromValues, Ordered kTo>
inline void sort_tiles(const OrderingArguments& a) {
  using Key = KeyFor<T>;
  __shared__ SortTile<Key, kHasPlaces> tile;
  const int width = static_cast<int>(a.width), tiles_at_once = kSortTile / width;
  const bool is_across = a.inner > 1;  // neighbours in memory are of different rows
  const int64_t tiles_of_row = (a.count + width - 1) / width, tiles = a.rows * tiles_of_row;
  // Calls f(place in the shared tile, row, number of the tile in it, element of the tile).
  const auto for_each = [&](int64_t first, const auto& f) {
    for (int x = threadIdx.x; x < kSortTile; x += kSortThreads) {
      const int t = is_across ? x % tiles_at_once : x / width, i = is_across ? x / tiles_at_once : x % width;
      f(t * width + i, (first + t) / tiles_of_row, (first + t) % tiles_of_row, i);
    }
  };
  for (int64_t first = blockIdx.x * static_cast<int64_t>(tiles_at_once); first < tiles;
       first += gridDim.x * static_cast<int64_t>(tiles_at_once)) {
    for_each(first, [&](int at, int64_t row, int64_t number, int i) {
      const int64_t from = number * width + i;
      if (row >= a.rows || from >= a.count)
        tile.set(at, static_cast<Key>(~Key{0}), 0);  // behind all others
      else if constexpr (kFromValues)
        tile.set(at, key_of_element<T, kHasPlaces>(a, row, from), static_cast<uint32_t>(from));
      else
        tile.set(at, static_cast<const Key*>(a.keys)[row * a.count + from],
                 kHasPlaces ? a.places[row * a.count + from] : 0);
    });
    __syncthreads();
    SortRun<Key, kHasPlaces> run;
    run.load(tile);
    run.sort();
    for (int merged = kSortItems; merged < width; merged *= 2) {
      run.store(tile);
      __syncthreads();
      const int mine = threadIdx.x * kSortItems, begin = mine / (2 * merged) * (2 * merged);
      run.merge(tile, begin, begin + merged, begin + 2 * merged, mine - begin);
      __syncthreads();
    }
    run.store(tile);
    __syncthreads();
    for_each(first, [&](int at, int64_t row, int64_t number, int i) {
      if (row >= a.rows || number * width + i >= a.count) return;
      if (kTo == Ordered::kRuns && i >= a.kept_of_tile) return;
      const int64_t to = kTo == Ordered::kRuns ? number * a.kept_of_tile + i : i;
      put_ordered<T, Position, kHasPlaces, kTo>(a, row, to, tile.keys[tile.at(at)], tile.place(at));
    });
    __syncthreads();
  }
}

// Merges pairs of neighbouring runs of each row. A block makes kSortTile elements of a merge.
template <class T, class Position, bool kHasPlaces, Ordered kTo>
inline void merge_runs(const OrderingArguments& a) {
  using Key = KeyFor<T>;
  __shared__ SortTile<Key, kHasPlaces> tile;
  __shared__ int64_t splits[2];
  const auto smaller = [](int64_t x, int64_t y) { return x < y ? x : y; };
  const int64_t wanted = kTo == Ordered::kRuns ? a.count : a.kept;
  const int64_t tiles_of_row = (wanted + kSortTile - 1) / kSortTile, tiles = a.rows * tiles_of_row;
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t row = t / tiles_of_row, to = t % tiles_of_row * kSortTile;
    const int64_t begin = to / (2 * a.width) * (2 * a.width), middle = smaller(begin + a.width, a.count),
                  end = smaller(begin + 2 * a.width, a.count);
    const int64_t first = to - begin, last = smaller(first + kSortTile, end - begin);
    const Key* const keys = static_cast<const Key*>(a.keys) + row * a.count;
    if (threadIdx.x < 2)
      splits[threadIdx.x] = merged_from_first(
          threadIdx.x == 0 ? first : last, middle - begin, end - middle, [&](int64_t i) { return keys[begin + i]; },
          [&](int64_t i) { return keys[middle + i]; });
    __syncthreads();
    const int64_t from_a = begin + splits[0], from_b = middle + first - splits[0];
    const int a_count = static_cast<int>(splits[1] - splits[0]), count = static_cast<int>(last - first);
    for (int i = threadIdx.x; i < count; i += kSortThreads) {
      const int64_t from = i < a_count ? from_a + i : from_b + i - a_count;
      tile.set(i, keys[from], kHasPlaces ? a.places[row * a.count + from] : 0);
    }
    __syncthreads();
    SortRun<Key, kHasPlaces> run{};
    const int mine = threadIdx.x * kSortItems;
    if (mine < count) run.merge(tile, 0, a_count, count, mine);
    __syncthreads();
    run.store(tile);
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += kSortThreads)
      put_ordered<T, Position, kHasPlaces, kTo>(a, row, to + i, tile.keys[tile.at(i)], tile.place(i));
    __syncthreads();
  }
}

}  // namespace headrace::device
#endif
