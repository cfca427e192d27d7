// Formulas of several operators in one: their meaning is that of the operators one by one.
#include "op/fused.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "op/invoke.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

// The result of `names`, applied one after the other to `x`, as one operator.
NDArray fused(const NDArray& x, std::initializer_list<const char*> names) {
  FusedBuilder builder;
  int array = builder.add_input();
  for (const char* name : names) array = builder.add(find_op(name), {&array, 1}, x.dtype());
  builder.store(array);
  const auto op = builder.make();
  const NDArray result = call(*op, fused_attrs({}), {x});
  result.wait_to_read();  // the operator goes with this function
  return result;
}

// Constants between the parts must not be worked on in double, where single operators compute in float32.
TEST(Fused, ConstantsKeepTheBitsOfSingleOperators) {
  const NDArray x = varied({100}, DType::kFloat32, 1);
  for (const char* name : {"exp", "expm1", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "erf", "sigmoid",
                           "softsign", "log1p", "rsqrt", "gammaln", "digamma"}) {
    for (const char* constant : {"ones_like", "zeros_like"}) {
      const NDArray expected = call("sin", {call(name, {call(constant, {x})})});
      EXPECT_EQ(bytes_of(fused(x, {constant, name, "sin"})), bytes_of(expected)) << name << " of " << constant;
    }
  }
}

TEST(Fused, WhatAPartReadsIsRoundedAsIfItHadBeenStored) {
  const NDArray x = varied({100}, DType::kFloat16, 1);
  EXPECT_EQ(bytes_of(fused(x, {"exp", "square", "tanh"})),
            bytes_of(call("tanh", {call("square", {call("exp", {x})})})));
}

TEST(Fused, EqualFormulasAreOneOperator) {
  const auto made = [](const char* first, const char* second, DType dtype) {
    FusedBuilder builder;
    int array = builder.add_input();
    for (const char* name : {first, second}) array = builder.add(find_op(name), {&array, 1}, dtype);
    builder.store(array);
    return builder.make();
  };
  const auto op = made("exp", "_mul_scalar", DType::kFloat32);
  EXPECT_EQ(made("exp", "_mul_scalar", DType::kFloat32), op);
  EXPECT_NE(made("exp", "_mul_scalar", DType::kFloat16), op);  // rounds between the two
  EXPECT_NE(made("exp", "_plus_scalar", DType::kFloat32), op);
  EXPECT_NE(made("_mul_scalar", "exp", DType::kFloat32), op);
  const std::weak_ptr<const OpDef> gone = made("sin", "cos", DType::kFloat32);
  EXPECT_TRUE(gone.expired());
  EXPECT_TRUE(made("sin", "cos", DType::kFloat32));
}

}  // namespace
}  // namespace headrace
