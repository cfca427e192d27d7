// Convolutions by cuDNN on the plug-in's GPUs, beside the host.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "base/config.h"
#include "headrace/arithmetic.hpp"
#include "headrace/autograd.hpp"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

using Inputs = std::vector<NDArray>;

// That the stand-in's cuDNN was given; none where the process uses another one.
std::optional<uint64_t> count_of_convolutions() {
  if (config().cuda_dnn != STAND_IN_LIBRARY) return {};
  static void* const library = dlopen(STAND_IN_LIBRARY, RTLD_NOW);
  static const auto count = reinterpret_cast<uint64_t (*)()>(dlsym(library, "stand_in_convolutions"));
  return count();
}

struct Case {
  const char* op;
  DType dtype;
  Shape data, weight, kernel, stride, dilate, pad;
  int64_t groups, filters;
};

NDArray convolve(const Case& c, const Inputs& in) {
  const OpDef& op = find_op(c.op);
  return invoke_all(op,
                    attrs_of(op, {{"kernel", c.kernel},
                                  {"stride", c.stride},
                                  {"dilate", c.dilate},
                                  {"pad", c.pad},
                                  {"num_group", c.groups},
                                  {"num_filter", c.filters},
                                  {"no_bias", in.size() < 3}}),
                    in)[0];
}

// Of the sum of the result's squares.
NDArray gradient_of_case(const Case& c, Inputs inputs, size_t which) {
  for (NDArray& input : inputs) autograd::attach_grad(input);
  NDArray loss;
  {
    const autograd::RecordScope scope;
    loss = call("sum", {call("square", {convolve(c, inputs)})});
  }
  autograd::backward(loss);
  return autograd::grad_of(inputs[which]);
}

Inputs inputs_of(const Case& c) {
  return {varied(c.data, c.dtype, 70), varied(c.weight, c.dtype, 71), varied({c.filters}, c.dtype, 72)};
}

void expect_all_as_on_host(const Case& c) {
  expect_as_on_host(inputs_of(c), [&](const Inputs& in) { return convolve(c, in); });
  for (size_t which = 0; which < 3; ++which)
    expect_as_on_host(inputs_of(c), [&](const Inputs& in) { return gradient_of_case(c, in, which); });
}

const Case kPlane{"Convolution", DType::kFloat32, {3, 4, 8, 7}, {6, 2, 3, 3}, {3, 3}, {2, 1}, {1, 2}, {1, 2}, 2, 6};

const Case kCases[] = {
    kPlane,
    {"Convolution", DType::kFloat32, {2, 3, 11}, {4, 3, 3}, {3}, {2}, {1}, {1}, 1, 4},
    {"Convolution",
     DType::kFloat32,
     {2, 2, 5, 6, 4},
     {3, 2, 2, 3, 1},
     {2, 3, 1},
     {1, 2, 1},
     {2, 1, 1},
     {0, 1, 0},
     1,
     3},
    {"Convolution", DType::kFloat32, {2, 4, 6, 6}, {4, 1, 3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 4, 4},
    {"Convolution", DType::kFloat32, {2, 5, 4, 3}, {7, 5, 1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 1, 7},
    {"Deconvolution", DType::kFloat32, {2, 4, 5, 4}, {4, 3, 3, 3}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 2, 6},
    {"Deconvolution", DType::kFloat32, {2, 3, 7}, {3, 2, 4}, {4}, {2}, {1}, {1}, 1, 2},
};

TEST(CudaDnnSlow, ConvolutionsOfEveryForm) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::string(c.op) + " of " + std::string(to_string(c.data)));
    const std::optional<uint64_t> before = count_of_convolutions();
    expect_all_as_on_host(c);
    // One forward for the result, and for each of three gradients one forward and what it is made of.
    if (before) {
      EXPECT_GE(*count_of_convolutions(), *before + 7);
    }
  }
}

TEST(CudaDnnSlow, ConvolutionsOfHalves) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16})
    for (const char* op : {"Convolution", "Deconvolution"}) {
      const Case c{op, dtype, {2, 3, 6, 5}, {3, 3, 3, 2}, {3, 2}, {1, 1}, {1, 1}, {1, 0}, 1, 3};
      const std::optional<uint64_t> before = count_of_convolutions();
      expect_as_on_host(inputs_of(c), [&](const Inputs& in) { return convolve(c, in); });
      if (before) {
        EXPECT_EQ(*count_of_convolutions(), *before + 1);
      }
    }
}

// Packed with channels second, packed with channels last, and neither.
TEST(CudaDnnSlow, ImagesOfAnyStrides) {
  const auto last = [](const NDArray& x) {
    return call("transpose", {contiguous(call("transpose", {x}, {{"axes", Shape{0, 2, 3, 1}}}))},
                {{"axes", Shape{0, 3, 1, 2}}});
  };
  const auto thinned = [](const NDArray& x) {
    return call("slice_axis", {call("_npi_flip", {x}, {{"axis", Shape{0}}})},
                {{"axis", int64_t{1}}, {"begin", int64_t{1}}, {"end", int64_t{5}}});
  };
  Case c = kPlane;
  const Inputs inputs{varied({3, 5, 8, 7}, c.dtype, 73), varied(c.weight, c.dtype, 74), varied({6}, c.dtype, 75)};
  expect_as_on_host(inputs, [&](const Inputs& in) { return convolve(c, {last(thinned(in[0])), in[1], in[2]}); });
  expect_as_on_host(inputs, [&](const Inputs& in) { return convolve(c, {thinned(in[0]), last(in[1]), in[2]}); });
  expect_as_on_host(inputs, [&](const Inputs& in) {
    return convolve(c, {thinned(in[0]), call("_npi_flip", {in[1]}, {{"axis", Shape{2}}})});
  });
}

// Of kernels that the library computes and of one that it does not, in packs of channels and without, beside a sum that
// lies otherwise.
TEST(CudaDnnSlow, WhatComesAfterConvolutions) {
  const OpDef& op = find_op("_fused_convolution");
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16})
    for (const int64_t filters : {6, 8})
      for (const int64_t height : {3, 7}) {
        const Shape out{2, filters, 10 - height, 4};
        const Inputs inputs{varied({2, 4, 9, 4}, dtype, 76),        varied({filters, 4, height, 1}, dtype, 77),
                            varied({filters}, dtype, 78),           varied({filters}, DType::kFloat32, 79),
                            varied({filters}, DType::kFloat32, 80), varied(out, dtype, 81)};
        for (const bool is_turned : {false, true})
          expect_as_on_host(inputs, [&](Inputs in) {
            if (is_turned) in[5] = call("_npi_flip", {in[5]}, {{"axis", Shape{2}}});
            return invoke_all(op,
                              attrs_of(op, {{"kernel", Shape{height, 1}},
                                            {"num_filter", filters},
                                            {"with_scale", true},
                                            {"with_sum", true},
                                            {"activation", std::string("relu")}}),
                              in)[0];
          });
      }
}

// The stand-in has nothing for it that may be used.
TEST(CudaDnnSlow, WhatTheLibraryDoesNotComputeIsComputedOtherwise) {
  const Case c{"Convolution", DType::kFloat32, {2, 2, 9, 4}, {3, 2, 7, 1}, {7, 1}, {1, 1}, {1, 1}, {1, 0}, 1, 3};
  const std::optional<uint64_t> before = count_of_convolutions();
  expect_all_as_on_host(c);
  if (before) {
    EXPECT_EQ(*count_of_convolutions(), *before);
  }
}

}  // namespace
}  // namespace headrace
