// Arrays that are checked, losses of labels and packed gradients on the plug-in's GPUs, beside the host.
#include <gtest/gtest.h>

#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

TEST(CudaChecksSlow, ArraysThatAreCloseToEachOther) {
  const NDArray x = varied({70'000}, DType::kFloat32, 1);
  NDArray moved = call("_plus_scalar", {x}, {{"scalar", 1e-9}});
  const NDArray strange = array({1, kNan, static_cast<float>(kInf)}),
                other = array({1, kNan, -static_cast<float>(kInf)});
  for (const auto& [a, b] : {std::pair{x, x}, std::pair{x, moved}, std::pair{x, call("negative", {x})},
                             std::pair{strange, strange}, std::pair{strange, other}})
    for (const bool equal_nan : {false, true})
      expect_as_on_host({a, b}, [&](const std::vector<NDArray>& in) {
        return call("_contrib_allclose", {in[0], in[1]}, {{"equal_nan", equal_nan}});
      });
  for (const DType dtype : kAllDTypes)
    expect_as_on_host({varied({40, 3}, dtype, 2), varied({40, 3}, dtype, 2)}, [](const std::vector<NDArray>& in) {
      return call("_contrib_allclose", {in[0], in[1]});
    });
  expect_as_on_host({varied({0, 3}, DType::kFloat32, 3), varied({0, 3}, DType::kFloat32, 3)},
                    [](const std::vector<NDArray>& in) {
                      return call("_contrib_allclose", {in[0], in[1]});
                    });
}

TEST(CudaChecksSlow, AConditionThatDoesNotHoldRaises) {
  const auto checked = [](const std::vector<float>& values) {
    const NDArray condition = as_in_context(cast_to(array(values), DType::kBool), kGpu0);
    return as_in_context(call("_npx_constraint_check", {condition}, {{"msg", std::string("no good")}}), {});
  };
  EXPECT_EQ(bytes_of(checked({1, 1, 1})), std::string(1, 1));
  EXPECT_EQ(bytes_of(checked({})), std::string(1, 1));
  try {
    checked({1, 0, 1}).wait_to_read();
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kValue);
    EXPECT_NE(std::string(error.what()).find("no good"), std::string::npos);
  }
}

TEST(CudaChecksSlow, GradientsOfHingeLosses) {
  for (const DType dtype : kRealDTypes)
    for (const bool is_linear : {false, true})
      expect_as_on_host({varied({50, 7}, dtype, 4), call("abs", {varied({50}, DType::kInt32, 5)})},
                        [&](const std::vector<NDArray>& in) {
                          return call(
                              "_backward_SVMOutput", {in[0], in[1]},
                              {{"margin", 0.5}, {"regularization_coefficient", 2.0}, {"use_linear", is_linear}});
                        });
}

TEST(CudaChecksSlow, GradientsAtTwoBits) {
  for (const Shape& shape : {Shape{70'001}, Shape{3, 7}, Shape{0}}) {
    for (const bool gives_residual : {false, true})
      expect_as_on_host({varied(shape, DType::kFloat32, 6), varied(shape, DType::kFloat32, 7)},
                        [&](const std::vector<NDArray>& in) {
                          const NDArray residual = call("_copy", {in[1]});
                          const NDArray packed = call("_two_bit_quantize", {in[0], residual}, {{"threshold", 0.4}});
                          return gives_residual ? residual : packed;
                        });
    expect_as_on_host(
        {call("_two_bit_quantize", {varied(shape, DType::kFloat32, 8), varied(shape, DType::kFloat32, 9)})},
        [&](const std::vector<NDArray>& in) {
          return call("_two_bit_dequantize", {in[0]}, {{"shape", shape}});
        });
  }
}

}  // namespace
}  // namespace headrace
