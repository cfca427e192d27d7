#include <gtest/gtest.h>

#include "tests/support/arrays.h"

namespace headrace {
namespace {

TEST(Diagonal, ShapesThatNoMemoryHoldsAreRefused) {
  constexpr int64_t kFar = int64_t{1} << 50;
  const NDArray diagonal = varied({3}, DType::kFloat32, 1);
  const auto scattered = [&](const Shape& shape, int64_t offset) {
    return kind_of([&] {
      call("_diagonal_scatter", {diagonal}, {{"shape", shape}, {"offset", offset}}).wait_to_read();
    });
  };
  EXPECT_EQ(scattered({kFar + 3, kFar + 3}, -kFar), ErrorKind::kMemory);
  EXPECT_EQ(scattered({kFar + 3, kFar + 3}, kFar), ErrorKind::kMemory);
  EXPECT_EQ(scattered({-3, 3}, 0), ErrorKind::kValue);
}

}  // namespace
}  // namespace headrace
