#include "op/invoke.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headrace/error.hpp"
#include "op/promote.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

TEST(Invoke, ResultsAreBroadcast) {
  NDArray sum = call("broadcast_add", {array({1, 2, 3}, {3, 1}), array({10, 20}, {1, 2})});
  EXPECT_EQ(sum.shape(), (Shape{3, 2}));
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{11, 21, 12, 22, 13, 23}));
}

TEST(Invoke, WhatIsWrongWithTheCallIsRaisedAtOnce) {
  EXPECT_THROW(call("broadcast_add", {array({1, 2, 3}, {3}), array({1, 2}, {2})}), Error);
  EXPECT_THROW(call("broadcast_add", {array({1}, {1})}), Error);
  EXPECT_THROW(call("no_such_operator", {}), Error);
  EXPECT_THROW(call("clip", {array({1}, {1})}, {{"a_minimum", 0.0}}), Error);
}

TEST(Invoke, GivenOutputsAreWrittenInPlace) {
  NDArray x = array({1, 2}, {2}), out = array({0, 0}, {2});
  const OpDef& op = find_op("exp");
  NDArray target = out;
  invoke(op, op.default_attrs, {&x, 1}, {&target, 1});
  EXPECT_EQ(target.view(), out.view());
  EXPECT_FLOAT_EQ(out.to_vector<float>()[1], std::exp(2.f));
}

// An output that overlaps an input element by element is safe; one that is shifted against it goes through a copy.
TEST(Invoke, OverlappingOutputsSeeOldInputs) {
  NDArray x = array({1, 2, 3, 4}, {4});
  NDArray head = view_of(x, {{3}, {1}, 0}), tail = view_of(x, {{3}, {1}, 1});
  NDArray target = tail;
  const OpDef& op = find_op("_plus_scalar");
  invoke(op, attrs_of(op, {{"scalar", 10.0}}), {&head, 1}, {&target, 1});
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 11, 12, 13}));
}

TEST(Invoke, KernelsSeeStridedInputsAsPacked) {
  NDArray x = array({1, 2, 3, 4, 5, 6}, {2, 3});
  NDArray transposed = view_of(x, {{3, 2}, {1, 3}, 0});
  EXPECT_EQ(call("_copy", {transposed}).to_vector<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(call("softmax", {transposed}).to_vector<float>(),
            call("softmax", {call("_copy", {transposed})}).to_vector<float>());
}

TEST(Promote, FollowsNumPy) {
  EXPECT_EQ(promote(DType::kFloat32, DType::kFloat64, "t"), DType::kFloat64);
  EXPECT_EQ(promote(DType::kFloat16, DType::kInt64, "t"), DType::kFloat16);
  EXPECT_EQ(promote(DType::kInt32, DType::kInt64, "t"), DType::kInt64);
  EXPECT_EQ(promote(DType::kBool, DType::kUint8, "t"), DType::kUint8);
  EXPECT_EQ(promote(DType::kFloat16, DType::kBfloat16, "t"), DType::kFloat32);
  EXPECT_THROW(promote(DType::kInt8, DType::kUint8, "t"), Error);
}

}  // namespace
}  // namespace headrace
