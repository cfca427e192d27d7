// Arrays made of C++'s containers and read back, and what is asked of arrays that are none.
#include "headrace/ndarray.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "headrace/error.hpp"
#include "tests/support/raised.h"

namespace headrace {
namespace {

using test::raised_by;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
class Elements : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                                      uint64_t, long, long long, unsigned long long>;
TYPED_TEST_SUITE(Elements, ElementTypes);

TYPED_TEST(Elements, GoInAndComeOut) {
  const std::vector<TypeParam> values{1, 2, 3, 4, 5, 6};
  const NDArray array = NDArray::from(values, {2, 3});
  EXPECT_EQ(item_size(array.dtype()), sizeof(TypeParam));
  EXPECT_EQ(array.to_vector<TypeParam>(), values);
}

TEST(NDArray, IsMadeOfAnythingContiguous) {
  std::vector<float> values{1, 2};
  EXPECT_THAT(NDArray::from(std::span<float>(values), {2}).to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(NDArray::from(std::span<const float>(values), {2}).to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(NDArray::from<float>(values, {2}).to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(NDArray::from(std::array{true, false}, {2}).to_vector<bool>(), ElementsAre(true, false));
}

static_assert(!Element<long double> && !Element<std::string> && !Element<const float>);

TEST(NDArray, CountsTheValues) {
  const std::vector<float> values{1, 2, 3};
  const Error error = raised_by([&] { NDArray::from(values, {1000, 1000}); });
  EXPECT_EQ(error.kind(), ErrorKind::kValue);
  EXPECT_THAT(error.what(), HasSubstr("from: shape (1000, 1000) has 1000000 elements, but 3 values are given"));
}

TEST(NDArray, SaysThatItIsNone) {
  NDArray moved = NDArray::from(std::vector{1.0f}, {1});
  const NDArray taken = std::move(moved);
  float buffer[1];
  const std::pair<const char*, std::function<void(const NDArray&)>> questions[] = {
      {"shape", [](const NDArray& x) { x.shape(); }},
      {"strides", [](const NDArray& x) { x.strides(); }},
      {"dtype", [](const NDArray& x) { x.dtype(); }},
      {"device", [](const NDArray& x) { x.device(); }},
      {"storage_kind", [](const NDArray& x) { x.storage_kind(); }},
      {"size", [](const NDArray& x) { x.size(); }},
      {"shape", [](const NDArray& x) { x.ndim(); }},
      {"is_contiguous", [](const NDArray& x) { x.is_contiguous(); }},
      {"wait_to_read", [](const NDArray& x) { x.wait_to_read(); }},
      {"copy_to_host", [&](const NDArray& x) { x.copy_to_host(buffer); }},
      {"to_vector", [](const NDArray& x) { x.to_vector<float>(); }},
      {"item", [](const NDArray& x) { x.item(); }},
  };
  for (const auto& [name, ask] : questions)
    for (const NDArray& none : {NDArray(), moved}) {
      const Error error = raised_by([&] { ask(none); });
      EXPECT_EQ(error.kind(), ErrorKind::kType) << name;
      EXPECT_THAT(error.what(), HasSubstr(std::string(name) + ": the array is none")) << name;
    }
  EXPECT_FALSE(NDArray().detach());
}

TEST(NDArray, NullPointersAreRefused) {
  const NDArray two = NDArray::from(std::vector{1.0f, 2.0f}, {2});
  EXPECT_EQ(raised_by([&] { two.copy_to_host(nullptr); }).kind(), ErrorKind::kValue);
  EXPECT_EQ(raised_by([] { NDArray::from_host(nullptr, {2}, DType::kFloat32); }).kind(), ErrorKind::kValue);
  EXPECT_EQ(NDArray::from_host(nullptr, {0}, DType::kFloat32).size(), 0);
}

TEST(NDArray, GivesTheShapeOfATemporary) {
  std::vector<int64_t> extents;
  for (const int64_t extent : NDArray::empty({2, 3, 4, 5, 6, 7, 8, 9}).shape()) extents.push_back(extent);
  EXPECT_THAT(extents, ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
}

}  // namespace
}  // namespace headrace
