// Initialisers: the values that they promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <headrace/headrace.hpp>

#include "tests/support/arrays.h"

namespace headrace {
namespace {

using ::testing::Each;
using ::testing::FloatNear;
using ::testing::Pointwise;

double deviation(const NDArray& values) {
  double sum = 0;
  for (const float x : values.to_vector<float>()) sum += double{x} * x;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

float largest(const NDArray& values) { return nd::max(nd::abs(values)).to_vector<float>()[0]; }

TEST(Initialisers, Fill) {
  EXPECT_THAT(init::Constant{3}({2, 2}, cpu()).to_vector<float>(), Each(3));
  EXPECT_EQ(init::Bilinear()({1, 2, 4, 4}, cpu()).shape(), (Shape{1, 2, 4, 4}));
  const std::vector<float> expected{0.0625, 0.1875, 0.1875, 0.0625, 0.1875, 0.5625, 0.5625, 0.1875,
                                    0.1875, 0.5625, 0.5625, 0.1875, 0.0625, 0.1875, 0.1875, 0.0625};
  EXPECT_EQ(init::Bilinear()({1, 1, 4, 4}, cpu()).to_vector<float>(), expected);
  EXPECT_EQ(kind_of([] { init::Bilinear()({4, 4}, cpu()); }), ErrorKind::kValue);
}

TEST(Initialisers, DrawByTheNumbersOfInputsAndOutputs) {
  const Shape shape{100, 300};
  random::seed(1);
  const float in = largest(init::Xavier{.factor_type = "in"}(shape, cpu()));
  const float out = largest(init::Xavier{.factor_type = "out", .magnitude = 1}(shape, cpu()));
  const float mean = largest(init::Xavier()(shape, cpu()));
  EXPECT_NEAR(in, std::sqrt(3.0 / 300), 1e-3);
  EXPECT_NEAR(out, std::sqrt(1.0 / 100), 1e-3);
  EXPECT_NEAR(mean, std::sqrt(3.0 / 200), 1e-3);
  EXPECT_NEAR(deviation(init::Xavier{.rnd_type = "gaussian", .magnitude = 2}(shape, cpu())), 0.1, 3e-3);
  EXPECT_NEAR(deviation(init::MSRAPrelu{.factor_type = "in", .slope = 1}(shape, cpu())), std::sqrt(1.0 / 300), 2e-3);
  EXPECT_EQ(kind_of([&] { init::Xavier{.rnd_type = "normal"}(shape, cpu()); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { init::MSRAPrelu{.factor_type = "all"}(shape, cpu()); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { init::Xavier()({3}, cpu()); }), ErrorKind::kValue);
}

TEST(Initialisers, OrthogonalRowsOrColumns) {
  for (const Shape& shape : {Shape{3, 2, 4}, Shape{4, 4}, Shape{6, 2}}) {
    const NDArray matrix = nd::reshape(init::Orthogonal{.scale = 2}(shape, cpu()), {.shape = {shape[0], -1}});
    const bool rows = matrix.shape()[0] <= matrix.shape()[1];
    const NDArray product = nd::dot(matrix, matrix, {.transpose_a = !rows, .transpose_b = rows});
    const NDArray expected = nd::eye(product.shape()[0]) * 4;
    EXPECT_THAT(product.to_vector<float>(), Pointwise(FloatNear(1e-5F), expected.to_vector<float>()));
  }
  EXPECT_EQ(kind_of([] { init::Orthogonal{.rand_type = "gaussian"}({2, 2}, cpu()); }), ErrorKind::kValue);
}

}  // namespace
}  // namespace headrace
