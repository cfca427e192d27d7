// Array functions against plain loops in long double.
#include "op/simd/array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "../formula/reference.h"
#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"

namespace headrace {
namespace {

constexpr int64_t kLengths[] = {0, 1, 3, 15, 16, 17, 100, 2047, 2048, 2049, 100'003};

template <class T>
std::vector<T> random_array(int64_t n, uint64_t seed, double low = -5, double high = 5) {
  std::mt19937_64 random(seed);
  std::vector<T> values(n);
  for (T& value : values) value = static_cast<T>(std::uniform_real_distribution<double>(low, high)(random));
  return values;
}

template <class T>
class ArrayTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ArrayTest, Types);

TYPED_TEST(ArrayTest, ExpAndLog) {
  using T = TypeParam;
  for (const int64_t n : kLengths) {
    auto x = random_array<T>(n, 1, -90, 90);
    if (n > 3) x[0] = -INFINITY, x[1] = INFINITY, x[2] = NAN;
    std::vector<T> y(n + 1, 77), z(n + 1, 77);
    simd::exp(x.data(), y.data(), n);
    simd::log(x.data(), z.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_LE(test::ulps_apart(y[i], static_cast<T>(std::exp(static_cast<long double>(x[i])))), 4u) << x[i];
      ASSERT_LE(test::ulps_apart(z[i], static_cast<T>(std::log(static_cast<long double>(x[i])))), 4u) << x[i];
    }
    EXPECT_EQ(y[n], 77);
    EXPECT_EQ(z[n], 77);
  }
}

TYPED_TEST(ArrayTest, Sums) {
  using T = TypeParam;
  for (const int64_t n : kLengths) {
    const auto a = random_array<T>(n, 2), b = random_array<T>(n, 3);
    long double sum = 0, squares = 0, dot = 0, magnitude = 1;
    for (int64_t i = 0; i < n; ++i) {
      const long double x = a[i], away = x - static_cast<long double>(T(1.5));
      sum += x;
      squares += away * away;
      dot += x * b[i];
      magnitude += away * away + std::fabs(x * b[i]) + std::fabs(x);
    }
    const double allowed = static_cast<double>(magnitude) * 1e-15;
    EXPECT_NEAR(simd::sum(a.data(), n), static_cast<double>(sum), allowed) << n;
    EXPECT_NEAR(simd::sum_of_squares(a.data(), T(1.5), n), static_cast<double>(squares), allowed) << n;
    EXPECT_NEAR(simd::dot(a.data(), b.data(), n), static_cast<double>(dot), allowed) << n;
  }
}

TYPED_TEST(ArrayTest, ExpAndSumIsTheMiddleOfSoftmax) {
  using T = TypeParam;
  for (const int64_t n : kLengths) {
    const auto x = random_array<T>(n, 4);
    std::vector<T> y(n + 1, 77);
    const double total = simd::exp_and_sum(x.data(), T(5), y.data(), n);
    long double expected = 0;
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_LE(test::ulps_apart(y[i], static_cast<T>(std::exp(static_cast<long double>(x[i] - T(5))))), 4u);
      expected += y[i];
    }
    EXPECT_NEAR(total, static_cast<double>(expected), static_cast<double>(expected) * 1e-14);
    EXPECT_EQ(y[n], 77);
  }
}

TYPED_TEST(ArrayTest, Extrema) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  for (const int64_t n : kLengths) {
    auto x = random_array<T>(n, 5);
    if (n == 0) {
      EXPECT_EQ(simd::max(x.data(), 0), -kInfinity);
      EXPECT_EQ(simd::min(x.data(), 0), kInfinity);
      continue;
    }
    EXPECT_EQ(simd::max(x.data(), n), *std::max_element(x.begin(), x.end()));
    EXPECT_EQ(simd::min(x.data(), n), *std::min_element(x.begin(), x.end()));
    EXPECT_EQ(simd::argmax(x.data(), n), std::max_element(x.begin(), x.end()) - x.begin());
    for (const int64_t place : {int64_t{0}, n / 2, n - 1}) {
      auto with_nan = x;
      with_nan[place] = std::numeric_limits<T>::quiet_NaN();
      with_nan[n - 1] = std::numeric_limits<T>::quiet_NaN();
      EXPECT_TRUE(std::isnan(simd::max(with_nan.data(), n)));
      EXPECT_TRUE(std::isnan(simd::min(with_nan.data(), n)));
      EXPECT_EQ(simd::argmax(with_nan.data(), n), place);
    }
    std::fill(x.begin(), x.end(), -kInfinity);
    EXPECT_EQ(simd::max(x.data(), n), -kInfinity);
    EXPECT_EQ(simd::argmax(x.data(), n), 0) << "the first of equals";
  }
}

TYPED_TEST(ArrayTest, ScaleAndAxpy) {
  using T = TypeParam;
  for (const int64_t n : kLengths) {
    const auto x = random_array<T>(n, 6), y = random_array<T>(n, 7);
    auto scaled = x, sum = y;
    simd::scale(scaled.data(), T(0.3), n);
    simd::axpy(T(0.3), x.data(), sum.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(scaled[i], x[i] * T(0.3));
      volatile T product = x[i] * T(0.3);  // keeps the compiler from fusing
      ASSERT_EQ(sum[i], y[i] + product);
    }
  }
}

TEST(Convert, EveryPairOfTypes) {
  const std::vector<double> values = {0, 1, -1, 2.5, -2.5, 127, 128, 255, 300, -300, 65504, 1e6, -1e6, 3e9, 1e20, NAN};
  const auto n = static_cast<int64_t>(values.size());
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      dispatch(static_cast<DType>(from), [&]<class From>() {
        dispatch(static_cast<DType>(to), [&]<class To>() {
          std::vector<uint64_t> source(n), target(n), expected(n);
          auto* in = reinterpret_cast<From*>(source.data());
          for (int64_t i = 0; i < n; ++i) {
            in[i] = numeric_cast<From>(values[i]);
            reinterpret_cast<To*>(expected.data())[i] = numeric_cast<To>(in[i]);
          }
          simd::convert(in, static_cast<DType>(from), target.data(), static_cast<DType>(to), n);
          EXPECT_EQ(std::memcmp(target.data(), expected.data(), n * sizeof(To)), 0)
              << dtype_name(static_cast<DType>(from)) << " to " << dtype_name(static_cast<DType>(to));
        });
      });
    }
  }
}

TEST(Convert, FloatToIntegerIsDefinedEverywhere) {
  EXPECT_EQ(numeric_cast<int32_t>(2.9), 2);
  EXPECT_EQ(numeric_cast<int32_t>(-2.9), -2);
  EXPECT_EQ(numeric_cast<int32_t>(3e9), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(numeric_cast<int32_t>(NAN), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(numeric_cast<uint32_t>(3e9), 3'000'000'000u);
  EXPECT_EQ(numeric_cast<uint8_t>(300.0f), 44);
  EXPECT_EQ(numeric_cast<uint8_t>(-1.0f), 255);
  EXPECT_EQ(numeric_cast<uint64_t>(1e19), 10'000'000'000'000'000'000u);
  EXPECT_EQ(numeric_cast<bool>(0.5), true);
  EXPECT_EQ(numeric_cast<bool>(NAN), true);
}

}  // namespace
}  // namespace headrace
