#include "distributed/told_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/sparse.hpp"
#include "tests/support/arrays.h"

namespace headrace::distributed {
namespace {

using testing::ElementsAre;
using Floats = std::vector<float>;

NDArray rows(const std::vector<int64_t>& numbers, float value, const Shape& shape) {
  if (numbers.empty()) return sparse::zeros(StorageKind::kRowSparse, shape, DType::kFloat32);
  const auto count = static_cast<int64_t>(numbers.size());
  Shape of_values = shape;
  of_values[0] = count;
  return sparse::row_sparse(full(of_values, value, DType::kFloat32, {}),
                            NDArray::from_host(numbers.data(), {count}, DType::kInt64), shape);
}

Floats dense(const NDArray& array) {
  return array.storage_kind() == StorageKind::kDense
             ? array.to_vector<float>()
             : call("cast_storage", {array}, {{"stype", std::string("default")}}).to_vector<float>();
}

TEST(ToldArrays, WithoutChangesAreThoseThatWereTold) {
  const NDArray array = full({2}, 3, DType::kFloat32, {});
  ToldArrays told({array});
  EXPECT_EQ(told.whole()[0].view(), array.view());
}

TEST(ToldArrays, LaterRowsCount) {
  const Shape shape{6, 1};
  const NDArray given = full(shape, 0, DType::kFloat32, {});
  for (const bool is_sparse : {false, true}) {
    ToldArrays told({is_sparse ? rows({1, 4}, 9, shape) : given, full({6, 2}, 0, DType::kFloat32, {})});
    const float before = is_sparse ? 9 : 0;
    told.change_rows({rows({0, 2}, 1, shape), rows({5}, 1, {6, 2})});
    told.change_rows({rows({2, 5}, 2, shape), rows({}, 1, {6, 2})});
    EXPECT_THAT(dense(told.whole()[0]), ElementsAre(1, before, 2, 0, before, 2));
    EXPECT_THAT(dense(told.whole()[1]), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1));
    told.change_rows({rows({4}, 3, shape), rows({0}, 4, {6, 2})});
    EXPECT_THAT(dense(told.whole()[0]), ElementsAre(1, before, 2, 0, 3, 2));
    EXPECT_EQ(dense(told.whole()[1])[1], 4);
  }
  EXPECT_THAT(given.to_vector<float>(), testing::Each(0));  // it may be others'
}

// More changes than the arrays are large.
TEST(ToldArrays, ManyChanges) {
  const Shape shape{50, 8};
  for (const bool is_sparse : {false, true}) {
    ToldArrays told({is_sparse ? rows({}, 0, shape) : full(shape, 0, DType::kFloat32, {})});
    Floats expected(50 * 8, 0.0F);
    for (int64_t step = 1; step < 200; ++step) {
      const int64_t first = 7 * step % 50, second = 13 * step % 50;
      std::vector<int64_t> numbers{std::min(first, second)};
      if (first != second) numbers.push_back(std::max(first, second));
      told.change_rows({rows(numbers, static_cast<float>(step), shape)});
      for (const int64_t number : numbers) std::fill_n(expected.begin() + 8 * number, 8, static_cast<float>(step));
    }
    EXPECT_EQ(dense(told.whole()[0]), expected);
  }
}

TEST(ToldArrays, OtherArraysAreRefused) {
  ToldArrays told({full({6, 1}, 0, DType::kFloat32, {})});
  EXPECT_EQ(kind_of([&] { told.change_rows({}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { told.change_rows({rows({1}, 1, {5, 1})}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { told.change_rows({full({6, 1}, 0, DType::kFloat32, {})}); }), ErrorKind::kValue);
}

}  // namespace
}  // namespace headrace::distributed
