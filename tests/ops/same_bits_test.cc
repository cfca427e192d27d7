// Results do not depend on how many threads a kernel gets, which depends on what else runs.
#include <gtest/gtest.h>

#include <ostream>
#include <vector>

#include "headrace/autograd.hpp"
#include "op/catalogue.h"
#include "op/invoke.h"
#include "tests/support/arrays.h"
#include "tests/support/busy_cores.h"

namespace headrace {
namespace {

struct Case {
  Case(std::string test, std::string_view name, std::vector<Shape> inputs, std::initializer_list<NamedAttr> named = {},
       DType type = DType::kFloat32)
      : test(std::move(test)), op(find_op(name)), shapes(std::move(inputs)), attrs(attrs_of(op, named)), dtype(type) {}

  std::string test;
  const OpDef& op;
  std::vector<Shape> shapes;
  AttrsPtr attrs;
  DType dtype;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.test; }

std::vector<Case> cases() {
  const NamedAttr kernel{"kernel", Shape{3, 3}}, pad{"pad", Shape{1, 1}};
  return {
      {"Convolution", "Convolution", {{8, 24, 28, 28}, {32, 24, 3, 3}, {32}}, {kernel, pad, {"num_filter", 32}}},
      {"FewChannels", "Convolution", {{4, 3, 64, 64}, {5, 3, 3, 3}, {5}}, {kernel, pad, {"num_filter", 5}}},
      {"Groups",
       "Convolution",
       {{8, 16, 28, 28}, {16, 1, 3, 3}, {16}},
       {kernel, pad, {"num_filter", 16}, {"num_group", 16}}},
      {"Deconvolution", "Deconvolution", {{8, 16, 20, 20}, {16, 24, 3, 3}}, {kernel, pad, {"num_filter", 24}}},
      {"Pooling", "Pooling", {{8, 30, 28, 28}}, {kernel, pad, {"pool_type", "avg"}}},
      {"FullyConnected", "FullyConnected", {{64, 500}, {300, 500}, {300}}, {{"num_hidden", 300}}},
      {"LongProducts", "dot", {{6, 40'000}, {40'000, 5}}},
      {"Halves", "dot", {{61, 4'000}, {4'000, 37}}, {}, DType::kBfloat16},
      {"Doubles", "dot", {{131, 700}, {700, 57}}, {}, DType::kFloat64},
      {"Rows", "dot", {{2'003, 517}, {517}}},
      {"Columns", "dot", {{2'003}, {2'003, 517}}},
      {"Stacks", "batch_dot", {{7, 90, 101}, {7, 101, 60}}},
      {"Sum", "sum", {{1'001, 517}}},
      {"SumOfRows", "sum", {{1'001, 517}}, {{"axis", Shape{1}}}},
      {"SumOfColumns", "sum", {{1'001, 517}}, {{"axis", Shape{0}}}},
      {"Norm", "norm", {{1'001, 517}}},
      {"Softmax", "softmax", {{1'001, 517}}},
      {"LayerNorm", "LayerNorm", {{1'001, 517}, {517}, {517}}},
      {"GroupNorm", "GroupNorm", {{8, 30, 28, 28}, {5}, {5}}, {{"num_groups", 5}}},
      {"InstanceNorm", "InstanceNorm", {{8, 30, 28, 28}, {30}, {30}}},
      {"Pointwise", "tanh", {{1'001, 517}}},
      {"Gamma", "gammaln", {{1'001, 517}}},
      {"Broadcast", "broadcast_mul", {{1'001, 517}, {1, 517}}},
  };
}

std::string bytes_of_results(const Case& one) {
  std::vector<NDArray> inputs;
  for (const Shape& shape : one.shapes) inputs.push_back(varied(shape, one.dtype, 7 + inputs.size()));
  for (NDArray& input : inputs) {
    input.wait_to_read();
    autograd::attach_grad(input);
  }
  NDArray result;
  {
    const autograd::RecordScope scope;
    result = invoke_all(one.op, one.attrs, inputs)[0];
  }
  autograd::backward(result);
  std::string bytes = bytes_of(result);
  for (const NDArray& input : inputs) bytes += bytes_of(autograd::grad_of(input));
  return bytes;
}

class SameBits : public testing::TestWithParam<Case> {};

TEST_P(SameBits, WhateverElseRuns) {
  const std::string alone = bytes_of_results(GetParam());
  const BusyCores busy;
  EXPECT_TRUE(bytes_of_results(GetParam()) == alone);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SameBits, testing::ValuesIn(cases()), [](const auto& it) { return it.param.test; });

}  // namespace
}  // namespace headrace
