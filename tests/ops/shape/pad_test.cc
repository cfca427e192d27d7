#include <gtest/gtest.h>

#include "tests/support/arrays.h"

namespace headrace {
namespace {

constexpr int64_t kHuge = INT64_MAX;

ErrorKind refusal(const char* op, const Shape& shape, const Shape& width, const char* mode) {
  return kind_of([&] {
    call(op, {varied(shape, DType::kFloat32, 1)}, {{"pad_width", width}, {"mode", mode}}).wait_to_read();
  });
}

TEST(Pad, WidthsThatDoNotFitAreRefused) {
  EXPECT_EQ(refusal("_pad", {2, 3}, {1, 1}, "edge"), ErrorKind::kValue);
  EXPECT_EQ(refusal("_pad", {2, 3}, {1, 1, -1, 0}, "edge"), ErrorKind::kValue);
  EXPECT_EQ(refusal("_pad", {2, 3}, {0, 0, kHuge, kHuge}, "edge"), ErrorKind::kValue);
  EXPECT_EQ(refusal("_pad", {2, 3}, {0, 0, int64_t{1} << 59, 0}, "edge"), ErrorKind::kMemory);
  EXPECT_EQ(refusal("_pad_back", {2, 3}, {}, "edge"), ErrorKind::kValue);
  EXPECT_EQ(refusal("_pad_back", {2, 3}, {0, 0, 1, 2}, "edge"), ErrorKind::kValue);
  EXPECT_EQ(refusal("_pad_back", {2, 3}, {0, 0, kHuge, kHuge}, "edge"), ErrorKind::kValue);
}

TEST(Pad, AnEmptyResultTakesNoMemory) {
  const NDArray padded =
      call("_pad", {NDArray::empty({0, 3})}, {{"pad_width", Shape{0, 0, int64_t{1} << 40, 0}}, {"mode", "constant"}});
  padded.wait_to_read();
  EXPECT_EQ(padded.shape(), (Shape{0, (int64_t{1} << 40) + 3}));
}

}  // namespace
}  // namespace headrace
