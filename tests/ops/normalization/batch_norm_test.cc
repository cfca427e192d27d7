#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "op/invoke.h"
#include "op/thread_state.h"
#include "ops/normalization/batch_norm_rows.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

std::vector<float> wave(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = 3 + std::sin(static_cast<float>(i * i % 97));
  return values;
}

TEST(BatchMoments, MergingCountsAllElements) {
  const BatchNormKernels<double>& kernels = batch_norm_kernels<double>(DType::kFloat64);
  const std::vector<double> x = {5, 1, 4, 8, -2, 7, 7};
  BatchMoments whole = kernels.plane_moments(x.data(), 7), parts, nothing;
  parts.merge(kernels.plane_moments(x.data(), 3));
  parts.merge(nothing);
  parts.merge(kernels.plane_moments(&x[3], 4));
  EXPECT_DOUBLE_EQ(parts.mean, whole.mean);
  EXPECT_DOUBLE_EQ(parts.squares, whole.squares);
  EXPECT_EQ(parts.count, 7);
}

TEST(BatchMoments, LongPlanesFarFromZeroKeepTheirVariance) {
  std::vector<float> x = wave(20'000);
  for (float& v : x) v += 2000;
  double mean = 0, squares = 0;
  for (float v : x) mean += static_cast<double>(v) / static_cast<double>(x.size());
  for (float v : x) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  const BatchMoments moments =
      batch_norm_kernels<float>(DType::kFloat32).plane_moments(x.data(), static_cast<int64_t>(x.size()));
  EXPECT_NEAR(moments.mean, mean, 1e-6 * mean);
  EXPECT_NEAR(moments.squares, squares, 1e-4 * squares);
}

// A plane is a column of which every element has the parameters of the channel.
TEST(BatchNormKernels, PlanesAndColumnsGiveTheSame) {
  const BatchNormKernels<float>& kernels = batch_norm_kernels<float>(DType::kFloat32);
  for (int64_t n : {1, 7, 16, 49, 100}) {
    const auto count = static_cast<size_t>(n);
    const std::vector<float> x = wave(count), dy = wave(count + 3), mean(count, 3.1f), scale(count, -0.7f),
                             beta(count, 0.2f), level(count, 0.4f), slope(count, 0.3f);
    for (bool relu : {false, true}) {
      const BatchAffine<float> affine{mean.data(), scale.data(), beta.data()};
      std::vector<float> columns(count), plane(count);
      kernels.normalize(x.data(), columns.data(), 1, n, affine, relu);
      kernels.normalize_plane(x.data(), plane.data(), n, affine, relu);
      EXPECT_EQ(columns, plane);
      kernels.gradient(dy.data(), x.data(), columns.data(), 1, n, affine, {level.data(), slope.data()}, relu);
      kernels.plane_gradient(dy.data(), x.data(), plane.data(), n, affine, {level.data(), slope.data()}, relu);
      EXPECT_EQ(columns, plane);
    }
  }
}

TEST(BatchNormKernels, ReluLetsNanThroughAndStopsGradientsAtZero) {
  const BatchNormKernels<float>& kernels = batch_norm_kernels<float>(DType::kFloat32);
  const std::vector<float> x = {std::numeric_limits<float>::quiet_NaN(), -1, 0, 2}, dy(4, 5), none(4, 0), one(4, 1);
  std::vector<float> y(4), dx(4);
  const BatchAffine<float> affine{none.data(), one.data(), none.data()};
  kernels.normalize(x.data(), y.data(), 1, 4, affine, true);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ((std::vector<float>(y.begin() + 1, y.end())), (std::vector<float>{0, 0, 2}));
  kernels.gradient(dy.data(), x.data(), dx.data(), 1, 4, affine, {none.data(), none.data()}, true);
  EXPECT_EQ((std::vector<float>(dx.begin() + 1, dx.end())), (std::vector<float>{0, 0, 5}));
}

TEST(BatchNorm, WhetherACallTrainsIsDecidedWhenItIsIssued) {
  const NDArray x = array({1, 3}, {2, 1}), one = array({1}), zero = array({0}), mean = array({0}), var = array({1});
  const auto run = [&] { return call("BatchNorm", {x, one, zero, mean, var}, {{"momentum", 0.5}}); };
  thread_state().training = true;
  NDArray y = run();
  thread_state().training = false;
  EXPECT_EQ(mean.to_vector<float>(), std::vector<float>{1});
  EXPECT_EQ(var.to_vector<float>(), std::vector<float>{1});
  EXPECT_NEAR(y.to_vector<float>()[1], 1, 1e-3);
  y = run();
  EXPECT_EQ(mean.to_vector<float>(), std::vector<float>{1});
  EXPECT_NEAR(y.to_vector<float>()[1], 2, 2e-3);
}

}  // namespace
}  // namespace headrace
