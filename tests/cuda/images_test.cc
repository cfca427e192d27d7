// Convolution, pooling and batch normalisation on the plug-in's GPUs, beside the host.
#include <gtest/gtest.h>

#include "headrace/arithmetic.hpp"
#include "headrace/autograd.hpp"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

using Inputs = std::vector<NDArray>;

Inputs call_all(const char* op, const Inputs& inputs, std::initializer_list<NamedAttr> attrs) {
  return invoke_all(find_op(op), attrs_of(find_op(op), attrs), inputs);
}

// The gradient of the sum of the result's squares with respect to input `which`.
NDArray gradient_of(const std::function<NDArray(const Inputs&)>& compute, Inputs inputs, size_t which) {
  for (NDArray& input : inputs) autograd::attach_grad(input);
  NDArray loss;
  {
    const autograd::RecordScope scope;
    const NDArray result = compute(inputs);
    loss = call("sum", {call("square", {result})});
  }
  autograd::backward(loss);
  return autograd::grad_of(inputs[which]);
}

void expect_gradients_as_on_host(const Inputs& inputs, const std::function<NDArray(const Inputs&)>& compute) {
  expect_as_on_host(inputs, compute);
  for (size_t which = 0; which < inputs.size(); ++which)
    expect_as_on_host(inputs, [&](const Inputs& in) { return gradient_of(compute, in, which); });
}

// The same values with the channels, axis 1, side by side.
NDArray channels_last(const NDArray& x) {
  return call("transpose", {contiguous(call("transpose", {x}, {{"axes", Shape{0, 2, 3, 1}}}))},
              {{"axes", Shape{0, 3, 1, 2}}});
}

TEST(CudaKernelsSlow, ConvolutionsOfEveryDType) {
  for (const DType dtype : kRealDTypes)
    expect_as_on_host({varied({2, 3, 7, 6}, dtype, 50), varied({4, 3, 3, 2}, dtype, 51), varied({4}, dtype, 52)},
                      [](const Inputs& in) {
                        return call_all("Convolution", in, {{"kernel", Shape{3, 2}}, {"num_filter", int64_t{4}}})[0];
                      });
}

TEST(CudaKernelsSlow, GradientsOfConvolutions) {
  expect_gradients_as_on_host({varied({3, 4, 8, 7}, DType::kFloat32, 53), varied({6, 2, 3, 3}, DType::kFloat32, 54),
                               varied({6}, DType::kFloat32, 55)},
                              [](const Inputs& in) {
                                return call_all("Convolution", in,
                                                {{"kernel", Shape{3, 3}},
                                                 {"stride", Shape{2, 1}},
                                                 {"dilate", Shape{1, 2}},
                                                 {"pad", Shape{1, 2}},
                                                 {"num_group", int64_t{2}},
                                                 {"num_filter", int64_t{6}}})[0];
                              });
}

TEST(CudaKernelsSlow, ConvolutionsOfNothing) {
  expect_as_on_host({varied({0, 3, 5}, DType::kFloat32, 56), varied({4, 3, 3}, DType::kFloat32, 57),
                     varied({4}, DType::kFloat32, 58)},
                    [](const Inputs& in) {
                      return call_all("Convolution", in, {{"kernel", Shape{3}}, {"num_filter", int64_t{4}}})[0];
                    });
}

TEST(CudaKernelsSlow, PoolingOfEveryKind) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt32})
    for (const char* kind : {"max", "avg", "sum"})
      expect_as_on_host({varied({2, 3, 7, 6}, dtype, 59)}, [kind](const Inputs& in) {
        return call_all("Pooling", in,
                        {{"kernel", Shape{3, 2}},
                         {"stride", Shape{2, 1}},
                         {"pad", Shape{1, 1}},
                         {"pool_type", std::string(kind)}})[0];
      });
}

TEST(CudaKernelsSlow, GradientsOfPooling) {
  for (const char* kind : {"max", "avg", "lp"})
    expect_gradients_as_on_host({varied({2, 3, 7, 6}, DType::kFloat32, 60)}, [kind](const Inputs& in) {
      return call_all("Pooling", in,
                      {{"kernel", Shape{3, 2}},
                       {"stride", Shape{2, 1}},
                       {"pool_type", std::string(kind)},
                       {"p_value", int64_t{2}}})[0];
    });
}

// In packs of channels, and one by one.
TEST(CudaKernelsSlow, PoolingOfChannelsSideBySide) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kInt8})
    for (const int64_t channels : {16, 6})
      for (const char* kind : {"max", "avg", "sum"}) {
        const auto pool = [kind](const Inputs& in) {
          return call_all("Pooling", {channels_last(in[0])},
                          {{"kernel", Shape{3, 2}},
                           {"stride", Shape{2, 1}},
                           {"pad", Shape{1, 1}},
                           {"pool_type", std::string(kind)}})[0];
        };
        const Inputs inputs{varied({2, channels, 7, 6}, dtype, 63)};
        dtype == DType::kInt8 ? expect_as_on_host(inputs, pool) : expect_gradients_as_on_host(inputs, pool);
      }
  const auto full = [](double value) { return call("_full", {}, {{"shape", Shape{2, 8, 9, 9}}, {"value", value}}); };
  const NDArray ties = call("_npi_where", {varied({2, 8, 9, 9}, DType::kBool, 64), full(0), full(kNan)});
  expect_gradients_as_on_host({ties}, [](const Inputs& in) {
    return call_all("Pooling", {channels_last(in[0])}, {{"kernel", Shape{3, 3}}, {"stride", Shape{2, 2}}})[0];
  });
  expect_gradients_as_on_host({varied({2, 8, 5, 6}, DType::kFloat32, 65)}, [](const Inputs& in) {
    return call_all("Pooling", {channels_last(in[0])}, {{"global_pool", true}, {"pool_type", std::string("avg")}})[0];
  });
}

// The moving statistics change in place, so each run has arrays of its own.
// Channels side by side are taken in packs where their number allows it.
void expect_batch_norm_as_on_host(int64_t channels, DType dtype, bool last, int64_t which) {
  const DType held = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
  const NDArray data = varied({6, channels, 40, 30}, dtype, 61), row = varied({channels}, held, 62);
  expect_as_on_host({data, row, row + row}, [&](const Inputs& in) {
    const NDArray x = last ? channels_last(in[0]) : in[0];
    const NDArray gamma = in[1] * in[1], mean = in[2] * in[1], variance = in[1] * in[1];
    const Inputs results = call_all("_batch_norm_train", {x, gamma, in[2], mean, variance},
                                    {{"fix_gamma", false}, {"activation", std::string("relu")}});
    return which < 3 ? results[static_cast<size_t>(which)] : which == 3 ? mean : variance;
  });
}

TEST(CudaKernelsSlow, BatchNormOfEveryDTypeAndOrder) {
  for (const DType dtype : kRealDTypes)
    for (const int64_t which : {0, 1, 2, 3, 4}) {
      expect_batch_norm_as_on_host(5, dtype, false, which);
      expect_batch_norm_as_on_host(5, dtype, true, which);
      expect_batch_norm_as_on_host(24, dtype, true, which);
    }
}

TEST(CudaKernelsSlow, GradientsOfBatchNorm) {
  for (const Shape& shape : {Shape{6, 5, 7, 3}, Shape{40, 5}, Shape{700, 24}, Shape{30, 1032}})
    for (const bool statistics : {false, true})
      for (const size_t which : {0, 1, 2}) {
        const int64_t channels = shape[1];
        const NDArray data = varied(shape, DType::kFloat32, 63), row = varied({channels}, DType::kFloat32, 64);
        expect_as_on_host({varied(shape, DType::kFloat32, 65), data, row, row, row, row * row}, [&](const Inputs& in) {
          return call_all("_backward_BatchNorm", in, {{"fix_gamma", false}, {"through_statistics", statistics}})[which];
        });
      }
}

// Planes of every width, and one without elements.
TEST(CudaKernelsSlow, GroupNormOfEveryDTypeAndItsGradients) {
  for (const DType dtype : kRealDTypes)
    for (const Shape& shape : {Shape{3, 4, 2}, Shape{2, 4, 7, 9}, Shape{2, 4, 900}, Shape{2, 4, 0}})
      for (const size_t which : {0, 1, 2}) {
        const NDArray x = varied(shape, dtype, 66), row = varied({2}, dtype, 67);
        expect_as_on_host({x, row, varied({2}, dtype, 68)}, [which](const Inputs& in) {
          return call_all("_group_norm", in, {{"num_groups", int64_t{2}}})[which];
        });
        if (shape.back() == 0) continue;
        const NDArray mean = varied({shape[0], 2}, dtype, 69),
                      deviation = call("_plus_scalar", {mean}, {{"scalar", 2.0}});
        expect_as_on_host({varied(shape, dtype, 70), x, row, mean, deviation},
                          [which](const Inputs& in) { return call_all("_backward_GroupNorm", in, {})[which]; });
      }
}

TEST(CudaKernelsSlow, ImagesAreResized) {
  for (const DType dtype : kRealDTypes)
    for (const char* kind : {"mean", "aligned", "centred", "nearest"})
      for (const bool transposed : {false, true}) {
        const Shape shape = transposed ? Shape{2, 3, 9, 4} : Shape{2, 3, 5, 7};
        expect_as_on_host({varied(shape, dtype, 71)}, [&](const Inputs& in) {
          return call_all("_resample2d", in,
                          {{"kind", std::string(kind)},
                           {"height", int64_t{5}},
                           {"width", int64_t{7}},
                           {"out_height", int64_t{9}},
                           {"out_width", int64_t{4}},
                           {"transposed", transposed}})[0];
        });
      }
}

TEST(CudaKernelsSlow, BordersOfEveryKind) {
  const Shape width{0, 0, 0, 0, 3, 1, 2, 9};
  for (const char* mode : {"constant", "edge", "reflect", "symmetric", "wrap"}) {
    for (const DType dtype : kAllDTypes)
      expect_as_on_host({varied({2, 3, 4, 5}, dtype, 72)}, [&](const Inputs& in) {
        return call_all("_pad", in, {{"pad_width", width}, {"mode", std::string(mode)}, {"constant_values", 2.5}})[0];
      });
    if (mode == std::string("constant")) continue;
    for (const DType dtype : kRealDTypes)
      expect_as_on_host({varied({2, 3, 8, 16}, dtype, 73)}, [&](const Inputs& in) {
        return call_all("_pad_back", in, {{"pad_width", width}, {"mode", std::string(mode)}})[0];
      });
  }
  for (const Shape& shape : {Shape{}, Shape{0, 2}})
    expect_as_on_host({varied(shape, DType::kFloat32, 74)}, [&](const Inputs& in) {
      return call_all("_pad", in, {{"pad_width", shape.empty() ? Shape{} : Shape{1, 2, 0, 1}}})[0];
    });
}

TEST(CudaKernelsSlow, SumsOfNeighbouringChannels) {
  for (const DType dtype : kRealDTypes)
    for (const int64_t size : {1, 4, 5, 99})
      expect_as_on_host({varied({2, 7, 3, 2}, dtype, 75)}, [size](const Inputs& in) {
        return call_all("_channel_window_sum", in, {{"nsize", int64_t{size}}})[0];
      });
}

TEST(CudaImagesSlow, BytesBecomeTensors) {
  for (const Shape& shape : {Shape{31, 17, 3}, Shape{2, 5, 7, 1}, Shape{0, 4, 4, 3}})
    expect_as_on_host({cast_to(varied(shape, DType::kInt32, 40), DType::kUint8)},
                      [](const std::vector<NDArray>& in) { return call("_image_to_tensor", {in[0]}); });
}

}  // namespace
}  // namespace headrace
