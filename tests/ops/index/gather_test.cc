#include "ops/index/gather.h"

#include <gtest/gtest.h>

#include <vector>

#include "op/invoke.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

NDArray indices(std::vector<int64_t> values, const Shape& shape) { return NDArray::from<int64_t>(values, shape); }

TEST(AdvancedIndex, NeighbouringAxesStayInPlaceAndOthersGoFirst) {
  EXPECT_EQ(advanced_index_shape({2, 3, 4, 5}, {1, 2}, {7}), (Shape{2, 7, 5}));
  EXPECT_EQ(advanced_index_shape({2, 3, 4, 5}, {0, 2}, {7}), (Shape{7, 3, 5}));
  EXPECT_EQ(advanced_index_shape({2, 3}, {0, 1}, {}), Shape{});
}

TEST(AdvancedIndex, AssignsThroughAView) {
  NDArray x = array({0, 1, 2, 3, 4, 5}, {2, 3});
  NDArray turned = call("transpose", {x});
  call("_advanced_index_assign", {turned, array({9}, {1}), indices({0, -1}, {2})}, {{"axes", Shape{0}}});
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{9, 1, 9, 9, 4, 9}));
}

TEST(AdvancedIndex, OutOfBoundsIsKeptOnTheResult) {
  NDArray x = array({0, 1, 2}, {3});
  NDArray taken = call("_advanced_index", {x, indices({3}, {1})}, {{"axes", Shape{0}}});
  try {
    taken.wait_to_read();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIndex);
    EXPECT_NE(std::string(error.what()).find("index 3 is out of bounds for axis 0 with size 3"), std::string::npos);
  }
}

TEST(Gather, RepeatedPlacesAddUpInOrder) {
  NDArray sum = call("_backward_take", {array({1, 2, 4}, {3, 1}), indices({1, 1, 0}, {3})},
                     {{"axis", int64_t{0}}, {"shape", Shape{3, 1}}});
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{4, 3, 0}));
}

TEST(Gather, RefusesMoreCoordinatesThanDimensions) {
  EXPECT_THROW(call("gather_nd", {array({1, 2}, {2}), indices({0, 0}, {2, 1})}), Error);
}

TEST(Pick, ClipsAndWraps) {
  NDArray x = array({1, 2, 3, 4}, {2, 2}), at = indices({5, -1}, {2});
  EXPECT_EQ(call("pick", {x, at}).to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_EQ(call("pick", {x, at}, {{"mode", std::string("wrap")}}).to_vector<float>(), (std::vector<float>{2, 4}));
}

}  // namespace
}  // namespace headrace
