#include "ops/pointwise/binary.h"

#include <gtest/gtest.h>

#include "headrace/ndarray.hpp"
#include "op/invoke.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

NDArray ints(std::vector<int32_t> values) {
  return NDArray::from<int32_t>(values, Shape{static_cast<int64_t>(values.size())});
}

TEST(Binary, BroadcastsShapes) {
  NDArray sum = call("broadcast_add", {array({1, 2, 3}, {3, 1}), array({10, 20}, {2})});
  EXPECT_EQ(sum.shape(), (Shape{3, 2}));
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{11, 21, 12, 22, 13, 23}));
}

TEST(Binary, EqualShapeFormsRefuseToBroadcast) {
  EXPECT_THROW(call("elemwise_add", {array({1, 2}, {2}), array({1}, {1})}), Error);
}

TEST(Binary, NdRefusesMixedDtypesAndNpPromotes) {
  NDArray floats = array({1, 2}, {2}), whole = ints({1, 2});
  EXPECT_THROW(call("broadcast_add", {floats, whole}), Error);
  EXPECT_EQ(call("_npi_add", {whole, floats}).dtype(), DType::kFloat32);
  EXPECT_EQ(call("_npi_true_divide", {whole, whole}).dtype(), DType::kFloat32);
}

TEST(Binary, ScalarsAreTruncatedToTheIntegerDtype) {
  EXPECT_EQ(call("_plus_scalar", {ints({1, 2})}, {{"scalar", 1.5}}).to_vector<int32_t>(), (std::vector<int32_t>{2, 3}));
  NDArray exact = call("_npi_add_scalar", {ints({1, 2})}, {{"scalar", 1.5}, {"is_int", false}});
  EXPECT_EQ(exact.to_vector<double>(), (std::vector<double>{2.5, 3.5}));
}

TEST(Binary, RemainderHasTheSignOfTheDivisor) {
  NDArray left = ints({7, -7, 7, -7}), right = ints({3, 3, -3, -3});
  EXPECT_EQ(call("_npi_mod", {left, right}).to_vector<int32_t>(), (std::vector<int32_t>{1, 2, -2, -1}));
}

TEST(Binary, LookupGivesAllForms) {
  const BinaryForms* less = find_binary("less");
  ASSERT_NE(less, nullptr);
  EXPECT_EQ(less->nd->name, "broadcast_lesser");
  EXPECT_EQ(less->nd_scalar->name, "_lesser_scalar");
  EXPECT_EQ(less->scalar_nd->name, "_greater_scalar");
  EXPECT_EQ(less->scalar_np->name, "_npi_greater_scalar");
  const BinaryForms* subtract = find_binary("subtract");
  EXPECT_EQ(subtract->scalar_nd->name, "_rminus_scalar");
  EXPECT_EQ(subtract->scalar_np->name, "_npi_rsubtract_scalar");
  EXPECT_EQ(find_binary("add")->nd_scalar, find_binary("add")->scalar_nd);
  EXPECT_EQ(find_binary("lcm")->nd, nullptr);
  EXPECT_EQ(find_binary("nothing"), nullptr);
}

}  // namespace
}  // namespace headrace
