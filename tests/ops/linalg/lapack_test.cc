#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/check.h"
#include "op/invoke.h"

namespace headrace {
namespace {

// Square matrices with a dominant diagonal, different for each seed.
NDArray matrices(const Shape& shape, int seed) {
  const int64_t n = shape.back();
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<int64_t>(i) % (n * n);
    values[i] = static_cast<float>(std::sin(1.7 * seed + 0.37 * static_cast<double>(i))) +
                (place % (n + 1) == 0 ? static_cast<float>(n) : 0.0F);
  }
  return NDArray::from<float>(values, shape);
}

const char* const kOperators[] = {"_linalg_inverse", "_linalg_syevd", "_linalg_gelqf",  "_linalg_potrf",
                                  "_npi_svd",        "_linalg_det",   "_linalg_slogdet"};

std::vector<std::vector<float>> results(const char* name, const NDArray& array) {
  const OpDef& op = find_op(name);
  const NDArray inputs[] = {array};
  std::vector<std::vector<float>> found;
  for (const NDArray& one : invoke_all(op, op.default_attrs, inputs)) found.push_back(one.to_vector<float>());
  return found;
}

TEST(Lapack, ThreadsDoNotDisturbEachOther) {
  constexpr int kThreads = 4;
  std::vector<NDArray> arrays;
  for (int k = 0; k < kThreads; ++k) arrays.push_back(matrices({3, 20, 20}, k));
  for (const char* name : kOperators) {
    std::vector<std::vector<std::vector<float>>> alone, together(kThreads);
    for (const NDArray& array : arrays) alone.push_back(results(name, array));
    std::vector<std::thread> threads;
    for (size_t k = 0; k < kThreads; ++k) threads.emplace_back([&, k] { together[k] = results(name, arrays[k]); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(together, alone) << name;
  }
}

TEST(Lapack, AStackHasTheBitsOfItsMatrices) {
  constexpr int64_t kCount = 64, kSize = 23;
  const NDArray stack = matrices({kCount, kSize, kSize}, 1);
  for (const char* name : kOperators) {
    const auto together = results(name, stack);
    for (int64_t k = 0; k < kCount; ++k) {
      const auto one = results(name, call("slice_axis", {stack}, {{"axis", int64_t{0}}, {"begin", k}, {"end", k + 1}}));
      for (size_t part = 0; part < one.size(); ++part) {
        const auto first = together[part].begin() + k * static_cast<int64_t>(one[part].size());
        ASSERT_TRUE(std::equal(one[part].begin(), one[part].end(), first)) << name << ", matrix " << k;
      }
    }
  }
}

TEST(Lapack, FailuresStayOnTheResults) {
  const NDArray zeros = full({2, 3, 3}, 0, DType::kFloat32, Device{});
  const NDArray inverse = call("_linalg_inverse", {zeros});
  try {
    inverse.to_vector<float>();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("inverse: matrix 0 is singular"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace headrace
