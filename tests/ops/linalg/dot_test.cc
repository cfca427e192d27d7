#include <gtest/gtest.h>

#include <random>

#include "op/invoke.h"

namespace headrace {
namespace {

NDArray random_array(const Shape& shape, DType dtype = DType::kFloat32, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> small(-4, 4);
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& value : values) value = static_cast<float>(small(generator));
  return cast_to(NDArray::from<float>(values, shape), dtype);
}

std::vector<float> floats(const NDArray& array) { return cast_to(array, DType::kFloat32).to_vector<float>(); }

// The product of two matrices in double; small integers make it exact in every dtype.
std::vector<float> expected(const std::vector<float>& a, const std::vector<float>& b, int64_t m, int64_t n, int64_t k,
                            bool ta, bool tb) {
  std::vector<float> c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += double{a[static_cast<size_t>(ta ? p * m + i : i * k + p)]} *
               b[static_cast<size_t>(tb ? j * k + p : p * n + j)];
      c[static_cast<size_t>(i * n + j)] = static_cast<float>(sum);
    }
  return c;
}

class DotOf : public testing::TestWithParam<DType> {};

TEST_P(DotOf, EverySizeAndTranspose) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                         {3, 4, 5},
                         {1, 40, 7},
                         {40, 1, 7},
                         {33, 17, 65},
                         {64, 48, 1},
                         {1, 300, 200},
                         {300, 1, 200},
                         {70, 90, 50},
                         {3, 2500, 260},
                         {66, 1290, 256}}) {
    for (int flags = 0; flags < 4; ++flags) {
      bool ta = flags & 1, tb = flags & 2;
      NDArray a = random_array(ta ? Shape{k, m} : Shape{m, k}, GetParam(), 1);
      NDArray b = random_array(tb ? Shape{n, k} : Shape{k, n}, GetParam(), 2);
      // Products are compared mod what bfloat16 can hold, so sums stay small there.
      NDArray c = call("dot", {a, b}, {{"transpose_a", ta}, {"transpose_b", tb}});
      ASSERT_EQ(c.shape(), (Shape{m, n}));
      std::vector<float> want = expected(floats(a), floats(b), m, n, k, ta, tb);
      std::vector<float> got = floats(c);
      for (size_t i = 0; i < want.size(); ++i) {
        float tolerance = GetParam() == DType::kBfloat16 ? std::abs(want[i]) / 128 : std::abs(want[i]) / 1024;
        bool exact = GetParam() != DType::kBfloat16 && GetParam() != DType::kFloat16;
        ASSERT_NEAR(got[i], want[i], exact ? 0 : tolerance) << m << "x" << n << "x" << k << " flags " << flags;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, DotOf,
                         testing::Values(DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16,
                                         DType::kInt32, DType::kInt64),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

TEST(Dot, ReadsStridedInputsAsTheyLie) {
  NDArray a = random_array({30, 40}), b = random_array({30, 20});
  NDArray turned = call("transpose", {a});
  EXPECT_EQ(call("dot", {turned, b}).to_vector<float>(),
            call("dot", {a, b}, {{"transpose_a", true}}).to_vector<float>());
}

TEST(Dot, WideStacksAndRowsWithABiasAreWhole) {
  constexpr int64_t kRows = 5, kWide = 2100, kDeep = 256;
  const NDArray a = random_array({kRows, kDeep}), b = random_array({kDeep, kWide}, DType::kFloat32, 2);
  const NDArray one = call("dot", {a, b}), bias = random_array({kWide}, DType::kFloat32, 3);
  ASSERT_EQ(one.to_vector<float>(), expected(floats(a), floats(b), kRows, kWide, kDeep, false, false));
  const NDArray biased = call("FullyConnected", {a, call("transpose", {b}), bias}, {{"num_hidden", kWide}});
  EXPECT_EQ(biased.to_vector<float>(), call("broadcast_add", {one, bias}).to_vector<float>());
  const NDArray stack = call("batch_dot", {call("stack", {a, a}), call("stack", {b, call("negative", {b})})});
  EXPECT_EQ(stack.to_vector<float>(), call("stack", {one, call("negative", {one})}).to_vector<float>());
}

TEST(Dot, EmptySumsAreZero) {
  NDArray c = call("dot", {random_array({2, 0}), random_array({0, 3})});
  EXPECT_EQ(c.to_vector<float>(), std::vector<float>(6, 0.0f));
}

TEST(Dot, NamesWhatDoesNotFit) {
  try {
    call("dot", {random_array({2, 3}), random_array({4, 2})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("dot: axis 1 of shape (2, 3)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace headrace
