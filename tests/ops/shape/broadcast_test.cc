#include <gtest/gtest.h>

#include <limits>

#include "headrace/error.hpp"
#include "headrace/ndarray.hpp"
#include "op/invoke.h"

namespace headrace {
namespace {

TEST(Broadcast, RepetitionsThatNoArrayHoldsAreErrors) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const NDArray x = full({3}, 1, DType::kFloat32, Device{});
  EXPECT_THROW(call("tile", {x}, {{"reps", Shape{kHuge}}}), Error);
  EXPECT_THROW(call("repeat", {x}, {{"repeats", kHuge}, {"axis", int64_t{0}}}), Error);
  EXPECT_THROW(call("repeat", {x}, {{"repeats", kHuge}}), Error);
}

}  // namespace
}  // namespace headrace
