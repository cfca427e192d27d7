#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "headrace/error.hpp"
#include "op/invoke.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

NDArray integers(const std::vector<int64_t>& values, const Shape& shape) {
  return NDArray::from<int64_t>(values, shape);
}

// Under UndefinedBehaviorSanitizer: whatever the coordinates are.
TEST(Coordinates, FlatIndicesOfHugeCoordinatesWrapAround) {
  const NDArray x = integers({5, 1}, {2, 1});
  const int64_t extent = int64_t{1} << 61;
  EXPECT_EQ(call("_ravel_multi_index", {x}, {{"shape", Shape{2, extent}}}).to_vector<int64_t>(),
            (std::vector<int64_t>{(5 - 8) * extent + 1}));
}

TEST(Coordinates, ShapesWithoutCoordinatesAreRefused) {
  const NDArray x = integers({INT64_MIN}, {1});
  for (const Shape& shape : {Shape{-1, -1}, Shape{2, 0}})
    EXPECT_THROW(call("_unravel_index", {x}, {{"shape", shape}}).wait_to_read(), Error);
  for (const Shape& shape : {Shape{-1}, Shape{0}})  // the first coordinate takes all
    EXPECT_EQ(call("_unravel_index", {x}, {{"shape", shape}}).to_vector<int64_t>(), x.to_vector<int64_t>());
}

}  // namespace
}  // namespace headrace
