#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <utility>

#include "headrace/error.hpp"
#include "op/invoke.h"
#include "ops/shape/slice_range.h"

namespace headrace {
namespace {

TEST(SliceRange, StepsOfAnySize) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(slice_range({}, {}, 2, 5, "slice").count, 3);
  EXPECT_EQ(slice_range({}, {}, -2, 4, "slice").count, 2);
  EXPECT_EQ(slice_range({}, {}, kMost, 5, "slice").count, 1);
  EXPECT_EQ(slice_range({}, {}, kLeast, 5, "slice").count, 1);
  EXPECT_EQ(slice_range(kLeast, kMost, kMost, 1, "slice").count, 1);
  EXPECT_EQ(slice_range(kMost, kLeast, kLeast, 0, "slice").count, 0);
}

TEST(SliceAxis, LiesWithinTheAxis) {
  const NDArray x = full({2, 6}, 1, DType::kFloat32, {});
  using End = std::optional<int64_t>;
  const auto slice = [&](int64_t begin, End end) {
    const AttrValue last = end ? AttrValue(*end) : AttrValue();
    return call("slice_axis", {x}, {{"axis", int64_t{1}}, {"begin", begin}, {"end", last}});
  };
  EXPECT_EQ(slice(-6, -2).shape(), (Shape{2, 4}));
  EXPECT_EQ(slice(2, {}).shape(), (Shape{2, 4}));
  EXPECT_EQ(slice(3, 3).shape(), (Shape{2, 0}));
  for (const auto& [begin, end] : {std::pair<int64_t, End>{0, 20}, {-9, 3}, {4, 2}, {7, {}}, {0, -7}})
    EXPECT_THROW(slice(begin, end), Error) << begin;
}

}  // namespace
}  // namespace headrace
