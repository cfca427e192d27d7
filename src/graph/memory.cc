#include "graph/memory.h"

#include <algorithm>
#include <functional>

namespace headrace {

namespace {

int64_t slot_bytes(const Lifetime& value) {
  return (value.bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

}  // namespace

int64_t assign_offsets(std::span<Lifetime> values) {
  std::vector<size_t> by_size;
  std::vector<const Lifetime*> placed;  // by offset
  int64_t total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].offset == kAnywhere) {
      by_size.push_back(i);
    } else {
      placed.push_back(&values[i]);
      total = std::max(total, values[i].offset + slot_bytes(values[i]));
    }
  }
  std::ranges::sort(placed, {}, &Lifetime::offset);
  std::ranges::stable_sort(by_size, std::greater<>(), [&](size_t i) { return values[i].bytes; });
  for (size_t i : by_size) {
    Lifetime& value = values[i];
    const int64_t bytes = slot_bytes(value);
    int64_t best = -1, best_gap = INT64_MAX, end = 0;
    for (const Lifetime* other : placed) {
      if (other->last < value.first || other->first > value.last) continue;
      const int64_t gap = other->offset - end;
      if (gap >= bytes && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, other->offset + slot_bytes(*other));
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
