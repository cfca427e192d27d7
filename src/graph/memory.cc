#include "graph/memory.h"

#include <algorithm>
#include <functional>

namespace headrace {

int64_t assign_offsets(std::span<Lifetime> values) {
  std::vector<size_t> by_size;
  std::vector<const Lifetime*> placed;  // by offset
  int64_t total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].offset == kAnywhere) {
      by_size.push_back(i);
    } else {
      placed.push_back(&values[i]);
      total = std::max(total, values[i].offset + in_slots(values[i].bytes));
    }
  }
  std::ranges::sort(placed, {}, &Lifetime::offset);
  std::ranges::stable_sort(by_size, std::greater<>(), [&](size_t i) { return values[i].bytes; });
  for (size_t i : by_size) {
    Lifetime& value = values[i];
    const int64_t bytes = in_slots(value.bytes);
    int64_t best = -1, best_gap = INT64_MAX, end = 0;
    for (const Lifetime* other : placed) {
      if (other->last < value.first || other->first > value.last) continue;
      const int64_t gap = other->offset - end;
      if (gap >= bytes && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, other->offset + in_slots(other->bytes));
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
