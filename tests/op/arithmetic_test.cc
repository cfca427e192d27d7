// Arithmetic that writes into its left side. That which makes new arrays is tested with the functions of operators.hpp.
#include "headrace/arithmetic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/autograd.hpp"
#include "headrace/error.hpp"
#include "op/invoke.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;

TEST(CompoundAssignment, WritesIntoTheArrayItself) {
  NDArray x = array({1, 2}), handle = x, y = array({3, 4});
  const NDArray& same = x;
  x += y;
  EXPECT_THAT(handle.to_vector<float>(), ElementsAre(4, 6));
  x -= array({1});
  EXPECT_THAT(handle.to_vector<float>(), ElementsAre(3, 5));
  x *= y;
  EXPECT_THAT(handle.to_vector<float>(), ElementsAre(9, 20));
  x /= same;
  EXPECT_THAT(handle.to_vector<float>(), ElementsAre(1, 1));
  (((x += 3) -= 0.5) *= 4) /= 2;
  EXPECT_THAT(handle.to_vector<float>(), ElementsAre(7, 7));
  EXPECT_EQ(x.view(), handle.view());
}

TEST(CompoundAssignment, KeepsTheDtype) {
  NDArray integers = cast_to(array({1, 2}), DType::kInt32);
  integers += 1;
  integers *= cast_to(array({2, 1}), DType::kInt8);
  EXPECT_THAT(integers.to_vector<int32_t>(), ElementsAre(4, 3));
  NDArray floats = array({1, 2});
  floats *= cast_to(array({1.5, 1.5}), DType::kFloat64);
  EXPECT_THAT(floats.to_vector<float>(), ElementsAre(1.5, 3));
  EXPECT_EQ(kind_of([&] { integers += 0.5; }), ErrorKind::kType);
  EXPECT_EQ(kind_of([&] { integers += array({0.5, 0.5}); }), ErrorKind::kType);
  EXPECT_EQ(kind_of([&] { integers /= 2; }), ErrorKind::kType);
  EXPECT_THAT(integers.to_vector<int32_t>(), ElementsAre(4, 3));
}

TEST(CompoundAssignment, WrongShapesAndMissingArraysAreRefused) {
  NDArray x = array({1, 2}), none;
  EXPECT_EQ(kind_of([&] { x += array({1, 2, 3}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { x += array({1, 2, 3, 4}, {2, 2}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { x += cast_to(array({1, 2, 3, 4}, {2, 2}), DType::kInt32); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { x += none; }), ErrorKind::kType);
  EXPECT_EQ(kind_of([&] { none += x; }), ErrorKind::kType);
  EXPECT_EQ(kind_of([&] { none += 1; }), ErrorKind::kType);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 2));
}

TEST(CompoundAssignment, IsRefusedOnTheTapeAndRecordedBesideIt) {
  NDArray x = array({1, 2}), total = array({0, 0}), doubles = cast_to(x, DType::kFloat64);
  autograd::attach_grad(x);
  {
    autograd::RecordScope scope;
    EXPECT_EQ(kind_of([&] { x += 1; }), ErrorKind::kRuntime);
    EXPECT_EQ(kind_of([&] { x += doubles; }), ErrorKind::kRuntime);
    total += x * x;
  }
  autograd::backward(total);
  EXPECT_THAT(autograd::grad_of(x).to_vector<float>(), ElementsAre(2, 4));
}

// The right side overlaps the left one, so the result goes through a copy.
TEST(CompoundAssignment, LeavesALeafALeaf) {
  NDArray x = array({1, 2, 3, 4}, {2, 2});
  autograd::attach_grad(x);
  x += view_of(x, {{2, 2}, {1, 2}, 0});  // its transpose
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(2, 5, 5, 8));
  EXPECT_EQ(autograd::grad_of(x).shape(), x.shape());
}

}  // namespace
}  // namespace headrace
