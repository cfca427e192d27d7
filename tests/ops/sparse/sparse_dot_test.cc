// Products of csr matrices beside the same sums one element after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "headrace/sparse.hpp"
#include "op/invoke.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using Floats = std::vector<float>;
using testing::DoubleNear;
using testing::Pointwise;

constexpr int64_t kRows = 41, kColumns = 29;

// With empty rows, rows that are full, and columns that nothing is stored for.
struct Matrix {
  Matrix() {
    std::mt19937 random(7);
    begins.push_back(0);
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        if (c % 7 == 3 || (r % 5 != 2 && random() % 4 != 0) || r % 11 == 4) continue;
        places.push_back(c);
        values.push_back(static_cast<double>(random() % 1000) / 100 - 5);
      }
      begins.push_back(static_cast<int64_t>(places.size()));
    }
  }

  NDArray array(DType dtype) const {
    const auto count = static_cast<int64_t>(places.size());
    return sparse::csr(cast_to(NDArray::from(std::span(values), {count}), dtype),
                       NDArray::from(std::span(places), {count}), NDArray::from(std::span(begins), {kRows + 1}),
                       {kRows, kColumns});
  }
  // f(row, column, value) of each stored element.
  template <class F>
  void each(const F& f) const {
    for (int64_t r = 0; r < kRows; ++r)
      for (auto i = static_cast<size_t>(begins[static_cast<size_t>(r)]);
           i < static_cast<size_t>(begins[static_cast<size_t>(r) + 1]); ++i)
        f(r, places[i], values[i]);
  }

  std::vector<double> values;
  std::vector<int64_t> places, begins;
};

std::vector<double> doubles_of(const NDArray& array) {
  return cast_to(call("cast_storage", {array}, {{"stype", std::string("default")}}), DType::kFloat64)
      .to_vector<double>();
}

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt32};
constexpr int64_t kWidths[] = {1, 2, 7, 16, 17, 33, 64, 67, 130};

void expect_near(const NDArray& result, const std::vector<double>& expected, DType dtype) {
  EXPECT_THAT(doubles_of(result), Pointwise(DoubleNear(dtype == DType::kFloat64 ? 1e-11 : 2e-3), expected));
}

// What is stored, as the dtype has it.
double as(DType dtype, double value) { return dtype == DType::kInt32 ? std::trunc(value) : value; }

// The matrix, or what it is transposed, times a factor of so many columns.
std::vector<double> products_of(const Matrix& matrix, DType dtype, const NDArray& factor, bool transposed) {
  const int64_t width = factor.shape()[1];
  const std::vector<double> f = doubles_of(factor);
  std::vector<double> products(static_cast<size_t>((transposed ? kColumns : kRows) * width));
  matrix.each([&](int64_t r, int64_t c, double value) {
    const int64_t to = transposed ? c : r, from = transposed ? r : c;
    for (int64_t j = 0; j < width; ++j)
      products[static_cast<size_t>(to * width + j)] += as(dtype, value) * f[static_cast<size_t>(from * width + j)];
  });
  return products;
}

TEST(SparseDot, CsrTimesDense) {
  const Matrix matrix;
  for (const DType dtype : kDTypes)
    for (const int64_t width : kWidths) {
      const NDArray factor = cast_to(varied({kColumns, width}, DType::kFloat64, 3), dtype);
      expect_near(call("dot", {matrix.array(dtype), factor}), products_of(matrix, dtype, factor, false), dtype);
    }
}

TEST(SparseDot, TransposedCsrTimesDense) {
  const Matrix matrix;
  for (const DType dtype : kDTypes)
    for (const int64_t width : kWidths) {
      const NDArray factor = cast_to(varied({kRows, width}, DType::kFloat64, 4), dtype);
      const std::vector<double> expected = products_of(matrix, dtype, factor, true);
      for (const char* wanted : {"default", "row_sparse"}) {
        const NDArray result =
            call("dot", {matrix.array(dtype), factor}, {{"transpose_a", true}, {"forward_stype", std::string(wanted)}});
        expect_near(result, expected, dtype);
        if (result.storage_kind() != StorageKind::kRowSparse) continue;
        for (const int64_t column : sparse::indices_of(result).to_vector<int64_t>()) EXPECT_NE(column % 7, 3);
      }
    }
}

TEST(SparseDot, DenseTimesCsr) {
  const Matrix matrix;
  for (const DType dtype : kDTypes)
    for (const int64_t rows : {1, 15, 16, 17, 40}) {
      const NDArray factor = cast_to(varied({rows, kRows}, DType::kFloat64, 5), dtype);
      const std::vector<double> f = doubles_of(factor);
      std::vector<double> expected(static_cast<size_t>(rows * kColumns));
      matrix.each([&](int64_t r, int64_t c, double value) {
        for (int64_t row = 0; row < rows; ++row)
          expected[static_cast<size_t>(row * kColumns + c)] +=
              f[static_cast<size_t>(row * kRows + r)] * as(dtype, value);
      });
      for (const char* wanted : {"default", "csr"})
        expect_near(call("dot", {factor, matrix.array(dtype)}, {{"forward_stype", std::string(wanted)}}), expected,
                    dtype);
    }
}

TEST(SparseDot, NothingTimesNothingIsZero) {
  const NDArray none = NDArray::empty({0}, DType::kFloat32), places = NDArray::empty({0}, DType::kInt64);
  const std::vector<int64_t> begins{0, 0, 0};
  const NDArray x = sparse::csr(none, places, NDArray::from(std::span(begins), {3}), {2, 0});
  EXPECT_THAT(call("dot", {x, NDArray::empty({0, 5})}).to_vector<float>(), testing::ElementsAreArray(Floats(10)));
  const NDArray y =
      call("dot", {x, NDArray::empty({2, 0})}, {{"transpose_a", true}, {"forward_stype", std::string("default")}});
  EXPECT_EQ(y.size(), 0);
  EXPECT_EQ(call("dot", {NDArray::empty({3, 2}), x}, {{"forward_stype", std::string("default")}}).size(), 0);
}

// More columns than are stored: the numbers that occur are sorted, not marked.
TEST(SparseDot, OfManyColumnsThoseThatOccurHaveRows) {
  const std::vector<double> values{2, 3, 4};
  const std::vector<int64_t> places{900'000, 7, 900'000}, begins{0, 1, 2, 3};
  const NDArray x = sparse::csr(NDArray::from(std::span(values), {3}), NDArray::from(std::span(places), {3}),
                                NDArray::from(std::span(begins), {4}), {3, 1'000'000});
  const NDArray y = cast_to(array({1, 2, 3, 4, 5, 6}, {3, 2}), DType::kFloat64);
  const NDArray result = call("dot", {x, y}, {{"transpose_a", true}});
  EXPECT_THAT(sparse::indices_of(result).to_vector<int64_t>(), testing::ElementsAre(7, 900'000));
  EXPECT_THAT(sparse::values_of(result).to_vector<double>(), testing::ElementsAre(9, 12, 22, 28));
}

}  // namespace
}  // namespace headrace
