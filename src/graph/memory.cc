#include "graph/memory.h"

#include <algorithm>
#include <numeric>

namespace headrace {

int64_t assign_offsets(std::span<Lifetime> values) {
  std::vector<size_t> by_size(values.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return values[a].bytes > values[b].bytes; });
  std::vector<const Lifetime*> placed;  // by offset
  int64_t total = 0;
  for (size_t i : by_size) {
    Lifetime& value = values[i];
    const int64_t bytes = (value.bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
    int64_t best = -1, best_gap = INT64_MAX, end = 0;
    for (const Lifetime* other : placed) {
      if (other->last < value.first || other->first > value.last) continue;
      const int64_t gap = other->offset - end;
      if (gap >= bytes && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, other->offset + (other->bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment);
    }
    value.offset = best >= 0 ? best : end;
    total = std::max(total, value.offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &value,
                                   [](const Lifetime* a, const Lifetime* b) { return a->offset < b->offset; }),
                  &value);
  }
  return total;
}

}  // namespace headrace
