#include <gtest/gtest.h>

#include "tests/support/arrays.h"

namespace headrace {
namespace {

std::vector<float> exchanged(const NDArray& gradient, const NDArray& residual, double threshold) {
  const NDArray packed = call("_two_bit_quantize", {gradient, residual}, {{"threshold", threshold}});
  return call("_two_bit_dequantize", {packed}, {{"threshold", threshold}, {"shape", gradient.shape()}})
      .to_vector<float>();
}

TEST(TwoBit, PacksFromTheHighestBits) {
  const NDArray gradient = array({1, -1, 0, 0.25f, 0.5f, -0.5f});
  const NDArray packed = call("_two_bit_quantize", {gradient, array({0, 0, 0, 0, 0, 0})}, {{"threshold", 0.5}});
  EXPECT_EQ(packed.to_vector<uint8_t>(), (std::vector<uint8_t>{0b11'10'00'00, 0b11'10'00'00, 0, 0}));
}

TEST(TwoBit, KeepsWhatIsNotSent) {
  const NDArray residual = array({0, 0, 0});
  const NDArray gradient = array({0.25f, 1.25f, -0.75f});
  EXPECT_EQ(exchanged(gradient, residual, 0.5), (std::vector<float>{0, 0.5f, -0.5f}));
  EXPECT_EQ(residual.to_vector<float>(), (std::vector<float>{0.25f, 0.75f, -0.25f}));
  EXPECT_EQ(exchanged(gradient, residual, 0.5), (std::vector<float>{0.5f, 0.5f, -0.5f}));
  EXPECT_EQ(residual.to_vector<float>(), (std::vector<float>{0, 1.5f, -0.5f}));
}

TEST(TwoBit, HandlesAnySize) {
  for (int64_t size : {0, 1, 15, 16, 17, 100'003}) {
    const NDArray gradient = varied({size}, DType::kFloat32, 5), residual = full({size}, 0, DType::kFloat32, {});
    const std::vector<float> sent = exchanged(gradient, residual, 0.25), values = gradient.to_vector<float>(),
                             rest = residual.to_vector<float>();
    ASSERT_EQ(sent.size(), values.size());
    for (size_t i = 0; i < sent.size(); ++i) ASSERT_NEAR(sent[i] + rest[i], values[i], 1e-6) << i;
  }
}

TEST(TwoBit, ChecksItsArguments) {
  const NDArray x = array({1, 2}), bytes = cast_to(array({1, 2, 3, 4}), DType::kUint8);
  const auto quantize = [](const NDArray& data, const NDArray& residual, double threshold) {
    return kind_of([&] { call("_two_bit_quantize", {data, residual}, {{"threshold", threshold}}); });
  };
  EXPECT_EQ(quantize(x, x, 0), ErrorKind::kValue);
  EXPECT_EQ(quantize(x, array({1}), 0.5), ErrorKind::kValue);
  EXPECT_EQ(quantize(cast_to(x, DType::kFloat64), x, 0.5), ErrorKind::kType);
  EXPECT_EQ(kind_of([&] { call("_two_bit_dequantize", {bytes}, {{"shape", Shape{17}}}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { call("_two_bit_dequantize", {x}, {{"shape", Shape{2}}}); }), ErrorKind::kType);
}

}  // namespace
}  // namespace headrace
