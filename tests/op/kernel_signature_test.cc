#include "op/kernel_signature.h"

#include <gtest/gtest.h>

#include "headrace/error.hpp"

namespace headrace {
namespace {

TEST(KernelSignature, NamesTypesStarsAndConst) {
  const auto parameters = parse_kernel_signature("const float *x,  double*y, int alpha,\n const uint8_t *, __half");
  ASSERT_EQ(parameters.size(), 5u);
  const DType dtypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kUint8, DType::kFloat16};
  for (size_t i = 0; i < parameters.size(); ++i) EXPECT_EQ(parameters[i].dtype, dtypes[i]);
  EXPECT_TRUE(parameters[0].is_array && parameters[0].is_const);
  EXPECT_TRUE(parameters[1].is_array && !parameters[1].is_const);
  EXPECT_TRUE(!parameters[2].is_array && !parameters[2].is_const);
  EXPECT_TRUE(parameters[3].is_array && parameters[3].is_const);
  EXPECT_FALSE(parameters[4].is_array);
  EXPECT_TRUE(parse_kernel_signature(" ").empty());
}

TEST(KernelSignature, SaysWhatItCannotRead) {
  const auto kind_of = [](const char* signature) {
    try {
      parse_kernel_signature(signature);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kRuntime;
  };
  for (const char* wrong : {"float **x", "const *x", "float x,", "float x y", "unsigned int n", "float x[3]"})
    EXPECT_EQ(kind_of(wrong), ErrorKind::kValue) << wrong;
  for (const char* unknown : {"long n", "void *x", "const size_t n"})
    EXPECT_EQ(kind_of(unknown), ErrorKind::kType) << unknown;
}

}  // namespace
}  // namespace headrace
