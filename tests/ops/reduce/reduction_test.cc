#include "ops/reduce/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "op/invoke.h"
#include "ops/reduce/combine.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

constexpr float kQuietNan = std::numeric_limits<float>::quiet_NaN();

TEST(Combine, ExtremesLetNanWinWhereverItStands) {
  for (Combine how : {Combine::kMax, Combine::kMin}) {
    const CombineKernels& kernels = combine_kernels(how, ComputeType::kFloat32);
    for (size_t place : {0, 5, 31, 99}) {
      std::vector<float> x(100, 1), columns(100, 1);
      x[place] = kQuietNan;
      float result;
      kernels.clear(&result, 1);
      kernels.run(&result, x.data(), 100);
      EXPECT_TRUE(std::isnan(result)) << place;
      kernels.rows(columns.data(), x.data(), 0, 1, 100);
      kernels.rows(columns.data(), std::vector<float>(400, 1).data(), 100, 4, 100);
      EXPECT_TRUE(std::isnan(columns[place])) << place;
    }
  }
}

TEST(Combine, RunsRowsAndShortRunsAgree) {
  std::vector<float> x(7 * 33);
  std::iota(x.begin(), x.end(), -50.0f);
  for (Combine how : {Combine::kSum, Combine::kMax, Combine::kMin}) {
    const CombineKernels& kernels = combine_kernels(how, ComputeType::kFloat32);
    const size_t size = item_size(accumulator_type(how, ComputeType::kFloat32));
    std::vector<char> by_run(7 * size), by_short_run(7 * size), by_rows(7 * size);
    kernels.clear(by_run.data(), 7);
    kernels.clear(by_short_run.data(), 7);
    kernels.clear(by_rows.data(), 7);
    std::vector<float> transposed(x.size());
    for (size_t r = 0; r < 7; ++r)
      for (size_t c = 0; c < 33; ++c) transposed[c * 7 + r] = x[r * 33 + c];
    for (size_t r = 0; r < 7; ++r) kernels.run(by_run.data() + r * size, x.data() + r * 33, 33);
    kernels.runs(by_short_run.data(), x.data(), 33, 7);
    kernels.rows(by_rows.data(), transposed.data(), 7, 33, 7);
    EXPECT_EQ(by_run, by_short_run);
    EXPECT_EQ(by_run, by_rows);
  }
}

TEST(Reduction, IntegersWrap) {
  std::vector<int32_t> x(2, std::numeric_limits<int32_t>::max());
  NDArray sum = call("_np_sum", {NDArray::from<int32_t>(x, Shape{2})});
  EXPECT_EQ(sum.to_vector<int32_t>(), (std::vector<int32_t>{-2}));
}

TEST(Reduction, ManyElementsAreSummedExactlyEnough) {
  NDArray tenths = full({4096, 4096}, 0.1, DType::kFloat32, Device{});
  EXPECT_EQ(call("_npi_mean", {tenths}).item(), double{0.1f});
  for (int64_t axis : {0, 1}) {
    NDArray means = call("_npi_mean", {tenths}, {{"axis", Shape{axis}}});
    EXPECT_EQ(means.to_vector<float>(), std::vector<float>(4096, 0.1f));
  }
}

// Magnitudes from 2^-20 to 2^20, so that sums of floats would lose most of the small ones.
std::vector<float> wide_range(size_t n) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<float> exponent(-20, 20);
  std::vector<float> x(n);
  for (float& value : x) value = std::exp2(exponent(generator)) * (generator() % 2 == 0 ? 1.0f : -1.0f);
  return x;
}

TEST(Reduction, ErrorsOfSumsDoNotGrowWithTheirLength) {
  for (int64_t n : {63, 64, 1000, 131073, 1 << 20}) {
    const std::vector<float> x = wide_range(static_cast<size_t>(n));
    const double exact = std::accumulate(x.begin(), x.end(), 0.0);
    const double magnitudes =
        std::accumulate(x.begin(), x.end(), 0.0, [](double a, float b) { return a + std::abs(b); });
    const NDArray values = NDArray::from<float>(x, Shape{n});
    EXPECT_NEAR(call("_np_sum", {values}).item(), exact, std::ldexp(magnitudes, -23)) << n;
    EXPECT_NEAR(call("_np_sum", {values}, {{"dtype", DType::kFloat64}}).item(), exact, std::ldexp(magnitudes, -48))
        << n;
  }
}

TEST(Reduction, AnyAxesOfAStridedArray) {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.0f);
  NDArray x = array(values, {2, 3, 4});
  NDArray turned = call("transpose", {x}, {{"axes", Shape{2, 0, 1}}});
  NDArray sum = call("_np_sum", {turned}, {{"axis", Shape{0, 2}}});
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{66, 210}));
  NDArray kept = call("_np_max", {turned}, {{"axis", Shape{1}}});
  EXPECT_EQ(kept.shape(), (Shape{4, 3}));
  EXPECT_EQ(kept.to_vector<float>(), (std::vector<float>{12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23}));
}

TEST(Reduction, RefusesWrongAxes) {
  NDArray x = array({1, 2}, {2});
  EXPECT_THROW(call("sum", {x}, {{"axis", Shape{1}}}), Error);
  EXPECT_THROW(call("sum", {x}, {{"axis", Shape{0, 0}}}), Error);
  EXPECT_THROW(call("max", {array({}, {0})}), Error);
}

TEST(Reduction, LegacyResultsAreNeverZeroDimensional) {
  NDArray x = array({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(call("sum", {x}).shape(), (Shape{1}));
  EXPECT_EQ(call("_np_sum", {x}).shape(), Shape{});
}

TEST(Softmax, RowsAndColumnsAgree) {
  std::vector<float> values(40 * 70);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 4;
  NDArray x = array(values, {40, 70});
  for (const char* name : {"softmax", "log_softmax"}) {
    NDArray down = call(name, {x}, {{"axis", int64_t{0}}});
    NDArray turned = call(name, {call("_copy", {call("transpose", {x})})}, {{"axis", int64_t{1}}});
    const std::vector<float> a = down.to_vector<float>(), b = call("transpose", {turned}).to_vector<float>();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6);
  }
}

}  // namespace
}  // namespace headrace
