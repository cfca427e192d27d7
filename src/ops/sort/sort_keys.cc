#include "ops/sort/sort_keys.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <memory>

#include "backend/cpu/parallel.h"

namespace headrace {
namespace {

constexpr int64_t kSerial = 1 << 15;  // below, one thread sorts
constexpr int64_t kInsertion = 24;    // below, a vector sort costs more than it saves
constexpr double kNsPerKey = 12;

template <class K>
void sort_part(K* keys, int64_t n) {
  if (n <= kInsertion) {
    std::sort(keys, keys + n);
    return;
  }
  static const hwy::Sorter& sorter = *new hwy::Sorter();
  const auto count = static_cast<size_t>(n);
  if constexpr (std::is_same_v<K, KeyAndPosition64>) {
    static_assert(sizeof(KeyAndPosition64) == sizeof(hwy::uint128_t));
    sorter(reinterpret_cast<hwy::uint128_t*>(keys), count, hwy::SortAscending());
  } else {
    sorter(keys, count, hwy::SortAscending());
  }
}

// How many of the first `rank` elements of the merged ranges come from the first.
template <class K>
int64_t merge_split(const K* a, int64_t na, const K* b, int64_t nb, int64_t rank) {
  int64_t low = std::max<int64_t>(0, rank - nb), high = std::min(rank, na);
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (b[rank - middle - 1] < a[middle]) high = middle;
    else low = middle + 1;
  }
  return low;
}

// a[0, na) and b[0, nb) into `to`, each thread making its own stretch of the result.
template <class K>
void merge_ranges(const K* a, int64_t na, const K* b, int64_t nb, K* to, double cost) {
  parallel_for(na + nb, kSerial, cost, [&](int64_t begin, int64_t end) {
    const int64_t i = merge_split(a, na, b, nb, begin), j = merge_split(a, na, b, nb, end);
    std::merge(a + i, a + j, b + (begin - i), b + (end - j), to + begin);
  });
}

template <class K>
void sort_all(K* keys, int64_t n) {
  const double cost = static_cast<double>(n) * kNsPerKey;
  int64_t parts = 1;
  if (n > kSerial)
    while (parts * 2 <= threads_for(cost)) parts *= 2;
  if (parts == 1) return sort_part(keys, n);
  const auto bound = [&](int64_t part) { return part * n / parts; };
  parallel_for(parts, 1, cost, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) sort_part(keys + bound(p), bound(p + 1) - bound(p));
  });
  const std::unique_ptr<K[]> spare(new K[static_cast<size_t>(n)]);
  K *from = keys, *to = spare.get();
  for (int64_t width = 1; width < parts; width *= 2, std::swap(from, to))
    for (int64_t p = 0; p < parts; p += 2 * width)
      merge_ranges(from + bound(p), bound(p + width) - bound(p), from + bound(p + width),
                   bound(p + 2 * width) - bound(p + width), to + bound(p), cost / 4);
  if (from != keys) {
    parallel_for(n, kSerial, cost / 12, [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, keys + begin); });
  }
}

}  // namespace

void sort_ascending(uint32_t* keys, int64_t n) { sort_all(keys, n); }
void sort_ascending(uint64_t* keys, int64_t n) { sort_all(keys, n); }
void sort_ascending(KeyAndPosition64* keys, int64_t n) { sort_all(keys, n); }

}  // namespace headrace
