#include <gtest/gtest.h>

#include <numeric>

#include "op/invoke.h"
#include "ops/shape/reshape_codes.h"

namespace headrace {
namespace {

NDArray counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0.0f);
  return NDArray::from<float>(values, shape);
}

TEST(ReshapeCodes, MeanWhatMxnetDocuments) {
  struct Case {
    Shape in, codes, expected;
    bool reverse = false;
  };
  const Case cases[] = {
      {{2, 3, 4}, {4, 0, 2}, {4, 3, 2}},
      {{2, 3, 4}, {-3, 4}, {6, 4}},
      {{2, 3, 4}, {0, -3}, {2, 12}},
      {{2, 3, 4}, {-4, 1, 2, -2}, {1, 2, 3, 4}},
      {{2, 3, 4}, {2, -4, -1, 3, -2}, {2, 1, 3, 4}},
      {{10, 5, 4}, {-1, 0}, {50, 4}, true},
      {{0, 3}, {-1, 3}, {0, 3}},
      {{2, 6}, {0, -4, 2, -1}, {2, 2, 3}},
      {{8, 6}, {2, -1, -4, 0}, {2, 4, 6}, true},
      {{2, 12}, {-2, 4, 3, -4}, {2, 4, 3}, true},
  };
  for (const Case& c : cases)
    EXPECT_EQ(resolve_nd_reshape(c.in, c.codes, c.reverse, "reshape"), c.expected) << std::string(to_string(c.codes));
}

TEST(ReshapeCodes, RaiseWhatDoesNotFit) {
  auto kind = [](const Shape& in, const Shape& codes) {
    try {
      resolve_nd_reshape(in, codes, false, "reshape");
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kOs;
  };
  EXPECT_EQ(kind({2, 3}, {4}), ErrorKind::kValue);
  EXPECT_EQ(kind({2, 3}, {7}), ErrorKind::kRuntime);
  EXPECT_EQ(kind({2, 3}, {-1, -1}), ErrorKind::kRuntime);
  EXPECT_EQ(kind({2, 3}, {-4, 2}), ErrorKind::kRuntime);
  EXPECT_EQ(kind({2, 3}, {-4, -1, 0, -2}), ErrorKind::kRuntime);
  EXPECT_EQ(kind({2}, {0, 0}), ErrorKind::kRuntime);
  EXPECT_EQ(kind({2}, {-9}), ErrorKind::kRuntime);
}

TEST(Reshape, IsAViewWhereStridesAllow) {
  NDArray x = counting({2, 3, 4});
  NDArray flat = call("_reshape_to", {x}, {{"shape", Shape{6, 4}}});
  EXPECT_EQ(flat.view()->storage(), x.view()->storage());
  NDArray turned = call("transpose", {x}, {{"axes", Shape{2, 0, 1}}});
  EXPECT_EQ(turned.view()->storage(), x.view()->storage());
  NDArray merged = call("_reshape_to", {turned}, {{"shape", Shape{4, 6}}});
  EXPECT_EQ(merged.view()->storage(), x.view()->storage());
  NDArray copied = call("_reshape_to", {turned}, {{"shape", Shape{24}}});
  EXPECT_NE(copied.view()->storage(), x.view()->storage());
  std::vector<float> values = copied.to_vector<float>();
  EXPECT_EQ(values[1], 4);
  EXPECT_EQ(values[6], 1);
}

TEST(Transpose, OfTransposeIsTheArray) {
  NDArray x = counting({2, 3, 4});
  NDArray moved = call("_np_moveaxis", {x}, {{"source", Shape{0}}, {"destination", Shape{-1}}});
  EXPECT_EQ(moved.shape(), (Shape{3, 4, 2}));
  NDArray back = call("_npi_rollaxis", {moved}, {{"axis", int64_t{2}}});
  EXPECT_EQ(back.to_vector<float>(), x.to_vector<float>());
  EXPECT_THROW(call("transpose", {x}, {{"axes", Shape{0, 0, 1}}}), Error);
  EXPECT_THROW(call("transpose", {x}, {{"axes", Shape{0, 1}}}), Error);
}

}  // namespace
}  // namespace headrace
