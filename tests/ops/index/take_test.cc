// Slices of every length and number, among them results that are written past the caches.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "op/invoke.h"
#include "op/simd/memory.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

// Of (outer, length, inner) uint8 elements, `count` slices of the middle axis.
void expect_slices(int64_t outer, int64_t length, int64_t inner, int64_t count) {
  SCOPED_TRACE(testing::Message() << outer << " x " << length << " x " << inner << ", " << count);
  std::vector<uint8_t> data(static_cast<size_t>(outer * length * inner));
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 37 + i / 251);
  std::vector<int64_t> places(static_cast<size_t>(count));
  for (size_t k = 0; k < places.size(); ++k) places[k] = static_cast<int64_t>(k * k * 7 + 3 * k) % length;
  const NDArray taken =
      call("take", {NDArray::from<uint8_t>(data, {outer, length, inner}), NDArray::from<int64_t>(places, {count})},
           {{"axis", int64_t{1}}});
  const std::vector<uint8_t> found = taken.to_vector<uint8_t>();
  ASSERT_EQ(found.size(), static_cast<size_t>(outer * count * inner));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < count; ++k)
      for (int64_t j = 0; j < inner; ++j)
        if (const auto at = static_cast<size_t>((o * count + k) * inner + j);
            found[at] != data[static_cast<size_t>((o * length + places[static_cast<size_t>(k)]) * inner + j)])
          FAIL() << "slice " << k << " of block " << o << ", element " << j;
}

TEST(Take, CopiesSlicesOfAnyLength) {
  for (const int64_t inner : {1, 2, 3, 4, 8, 63, 64, 65, 256, 5000})
    for (const int64_t outer : {1, 3})
      for (const int64_t count : {1, 7, 8, 9, 100}) expect_slices(outer, 11, inner, count);
}

TEST(Take, CopiesLargeResults) {
  for (const int64_t inner : {64, 96, 4096}) expect_slices(2, 50, inner, simd::stream_bytes() / inner / 2 + 5);
}

}  // namespace
}  // namespace headrace
