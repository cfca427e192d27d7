#include "kvstore/buckets.h"

#include <gtest/gtest.h>

namespace headrace::kvstore {
namespace {

using Buckets = std::vector<std::vector<size_t>>;

NDArray of(int64_t count, DType dtype = DType::kFloat32) { return NDArray::empty({count}, dtype); }

TEST(Buckets, SmallGradientsOfOneDtypeTravelTogether) {
  const std::vector<NDArray> gradients{of(3), of(6), of(5), of(40), of(3, DType::kFloat64), of(30)};
  EXPECT_EQ(buckets(gradients, 80), (Buckets{{0, 1, 2}, {3}, {4}, {5}}));
}

TEST(Buckets, ABucketIsFullAtItsSize) {
  const std::vector<NDArray> gradients{of(10), of(9), of(1), of(19), of(1), of(1)};
  EXPECT_EQ(buckets(gradients, 80), (Buckets{{0, 1, 2}, {3, 4}, {5}}));
}

TEST(Buckets, TheyComeInTheOrderInWhichTheyAreComplete) {
  const std::vector<NDArray> gradients{of(1), of(20), of(1), of(20), of(1, DType::kFloat16)};
  EXPECT_EQ(buckets(gradients, 80), (Buckets{{1}, {0, 2}, {3}, {4}}));
  EXPECT_EQ(buckets({}), Buckets{});
}

}  // namespace
}  // namespace headrace::kvstore
