#include "ops/convolution/convolution.h"

#include <gtest/gtest.h>

#include <random>

#include "op/invoke.h"
#include "op/kernel.h"
#include "ops/convolution/plain_convolution.h"
#include "ops/convolution/window_products.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

NDArray random_array(const Shape& shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> small(-4, 4);
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& value : values) value = static_cast<float>(small(generator));
  return array(values, shape);
}

std::vector<float> floats(const NDArray& given) { return cast_to(given, DType::kFloat32).to_vector<float>(); }

// Memory of an image and the image over it.
template <class T = float>
struct Buffer {
  std::vector<T> values;
  Image image;

  Buffer(const Shape& shape, const Strides& strides, unsigned seed)
      : values(static_cast<size_t>(element_count(shape))) {
    std::mt19937 generator(seed);
    std::uniform_int_distribution<int> small(-4, 4);
    for (T& value : values) value = static_cast<T>(small(generator));
    image = {values.data(), dtype_of<T>(), shape, strides};
  }
};

// What a pass writes, the bias last, by the plain loops or as convolutions are computed.
template <class T>
std::vector<std::vector<T>> results_of(ConvolutionPass pass, const Window& window, const Shape& data, const Shape& out,
                                       const Strides& data_strides, bool plain) {
  Shape weight{out[1], data[1] / window.groups};
  for (int64_t extent : window.kernel) weight.push_back(extent);
  Buffer<T> x(data, data_strides, 1), w(weight, contiguous_strides(weight), 2), y(out, channels_last_strides(out), 3);
  std::vector<T> bias(static_cast<size_t>(std::max(data[1], out[1])), 2);
  ConvolutionProblem p{.pass = pass, .window = window, .data = x.image, .weight = w.image, .out = y.image};
  p.bias = bias.data();
  KernelContext context(find_op("Convolution"), {}, {}, 0);
  if (plain)
    plain_convolution(p);
  else
    convolve(context, p);
  if (pass == ConvolutionPass::kForward) return {y.values, bias};
  return {pass == ConvolutionPass::kData ? x.values : w.values, bias};
}

// Small integers make sums exact, so the library and the plain loops give the same bits.
TEST(Convolution, LibraryAndPlainLoopsAgreeInEveryPass) {
  const Shape data{2, 16, 7, 6};
  for (int64_t groups : {1, 2, 16}) {
    const Window large{.kernel = {3, 2}, .stride = {2, 1}, .dilate = {1, 2}, .pad = {1, 1}, .groups = groups};
    const Window single{.kernel = {1, 1}, .stride = {2, 3}, .dilate = {1, 1}, .pad = {0, 0}, .groups = groups};
    for (const auto& [window, out] : {std::pair(large, Shape{2, 32, 4, 6}), std::pair(single, Shape{2, 32, 4, 2})})
      for (const Strides& order : {channels_last_strides(data), contiguous_strides(data)})
        for (auto pass : {ConvolutionPass::kForward, ConvolutionPass::kData, ConvolutionPass::kWeight})
          EXPECT_EQ(results_of<float>(pass, window, data, out, order, false),
                    results_of<float>(pass, window, data, out, order, true))
              << "groups " << groups << ", kernel of " << window.kernel[0] << ", pass " << static_cast<int>(pass)
              << ", channels in steps of " << order[1];
  }
}

TEST(Convolution, ColumnProductsAndPlainLoopsAgreeInEveryPass) {
  struct Case {
    Window window;
    Shape data, out;
  };
  const Case cases[] = {
      {{.kernel = {3, 2}, .stride = {2, 1}, .dilate = {1, 2}, .pad = {1, 1}}, {2, 16, 7, 6}, {2, 32, 4, 6}},
      {{.kernel = {3, 2}, .stride = {2, 1}, .dilate = {1, 2}, .pad = {1, 1}, .groups = 2}, {2, 16, 7, 6}, {2, 8, 4, 6}},
      {{.kernel = {1, 1}, .stride = {2, 3}, .dilate = {1, 1}, .pad = {0, 0}}, {2, 16, 7, 6}, {2, 5, 4, 2}},
      {{.kernel = {3}, .stride = {1}, .dilate = {3}, .pad = {3}}, {1, 4, 2}, {1, 4, 2}},  // never inside at first
      {{.kernel = {2, 3, 1}, .stride = {1, 2, 1}, .dilate = {1, 1, 1}, .pad = {1, 2, 0}},
       {1, 3, 1, 4, 2},
       {1, 4, 2, 3, 2}},
      {{.kernel = {3, 3}, .stride = {1, 1}, .dilate = {1, 1}, .pad = {1, 1}},
       {1, 32, 90, 90},
       {1, 4, 90, 90}},  // in blocks
  };
  for (const auto& [window, data, out] : cases)
    for (const Strides& order : {channels_last_strides(data), contiguous_strides(data)})
      for (auto pass : {ConvolutionPass::kForward, ConvolutionPass::kData, ConvolutionPass::kWeight})
        EXPECT_EQ(results_of<double>(pass, window, data, out, order, false),
                  results_of<double>(pass, window, data, out, order, true))
            << std::string(to_string(data)) << ", pass " << static_cast<int>(pass) << ", channels in steps of "
            << order[1];
}

TEST(Convolution, WindowProductsGiveThePlainGradientOfTheWeight) {
  struct Case {
    Window window;
    Shape data, out;  // without batch and channels
  };
  const Case cases[] = {
      {{.kernel = {3, 3}, .stride = {1, 1}, .dilate = {1, 1}, .pad = {1, 1}}, {3, 2}, {3, 2}},
      {{.kernel = {3, 2}, .stride = {2, 1}, .dilate = {1, 2}, .pad = {1, 1}}, {3, 3}, {2, 3}},
      {{.kernel = {3}, .stride = {1}, .dilate = {3}, .pad = {3}}, {2}, {2}},  // the first element is never inside
      {{.kernel = {2, 3, 1}, .stride = {1, 2, 1}, .dilate = {1, 1, 1}, .pad = {1, 2, 0}}, {1, 4, 2}, {2, 3, 2}},
  };
  const OpDef& op = find_op("Convolution");
  const auto image = [](int64_t count, int64_t channels, const Shape& spatial) {
    Shape shape{count, channels};
    for (int64_t extent : spatial) shape.push_back(extent);
    return shape;
  };
  for (const Case& one : cases)
    for (bool channels_last : {false, true}) {
      const Shape data = image(2, 128, one.data), out = image(2, 130, one.out),
                  weight = image(130, 128, one.window.kernel);
      const auto order = [&](const Shape& shape) {
        return channels_last ? channels_last_strides(shape) : contiguous_strides(shape);
      };
      const Buffer<> x(data, channels_last_strides(data), 1), y(out, order(out), 3);
      Buffer<> expected(weight, order(weight), 2), w(weight, order(weight), 2);
      ConvolutionProblem p{.pass = ConvolutionPass::kWeight, .window = one.window, .data = x.image};
      p.out = y.image;
      p.weight = expected.image;
      plain_convolution(p);
      p.weight = w.image;
      ASSERT_TRUE(suits_window_products(p)) << std::string(to_string(one.window.kernel));
      KernelContext context(op, {}, {}, 0);
      convolve(context, p);
      EXPECT_EQ(w.values, expected.values)
          << std::string(to_string(one.window.kernel)) << " channels last " << channels_last;
    }
}

TEST(Convolution, ResultsLieChannelsLastAndStaySo) {
  const NDArray x = random_array({2, 3, 8, 8}, 1), w = random_array({5, 3, 3, 3}, 2);
  const auto convolved = [&](const NDArray& data, const NDArray& weight) {
    return call("Convolution", {data, weight},
                {{"kernel", Shape{3, 3}}, {"num_filter", int64_t{5}}, {"no_bias", true}});
  };
  const NDArray y = convolved(x, w);
  EXPECT_EQ(y.shape(), (Shape{2, 5, 6, 6}));
  EXPECT_TRUE(is_channels_last(y.shape(), y.strides()));
  const NDArray z = call("Pooling", {call("relu", {y})}, {{"kernel", Shape{2, 2}}, {"stride", Shape{2, 2}}});
  EXPECT_TRUE(is_channels_last(z.shape(), z.strides()));
  const NDArray wide = convolved(cast_to(x, DType::kFloat64), cast_to(w, DType::kFloat64));
  EXPECT_TRUE(wide.is_contiguous());
  EXPECT_EQ(floats(wide), floats(y));
}

TEST(Convolution, ChannelsLastLayoutIsPackedInThatOrder) {
  const NDArray x = random_array({2, 8, 8, 3}, 1), w = random_array({5, 3, 3, 3}, 2);
  const NDArray y =
      call("Convolution", {x, w},
           {{"kernel", Shape{3, 3}}, {"num_filter", int64_t{5}}, {"no_bias", true}, {"layout", std::string("NHWC")}});
  EXPECT_EQ(y.shape(), (Shape{2, 6, 6, 5}));
  EXPECT_TRUE(y.is_contiguous());
}

TEST(Convolution, ShapesOfWeightAndBiasFollowFromData) {
  for (auto [name, weight] : {std::pair{"Convolution", Shape{8, 2, 3, 2}}, {"Deconvolution", Shape{4, 4, 3, 2}}}) {
    const OpDef& op = find_op(name);
    const AttrsPtr attrs = attrs_of(
        op, {{"kernel", Shape{3, 2}}, {"num_filter", int64_t{8}}, {"num_group", int64_t{2}}, {"no_bias", false}});
    EXPECT_EQ(op.input_count(*attrs), 3u);
    std::optional<Shape> shapes[3] = {Shape{5, 4, 9, 9}};
    Completion completion(name, shapes);
    op.complete(completion, *attrs);
    EXPECT_EQ(*shapes[1], weight);
    EXPECT_EQ(*shapes[2], Shape{8});
  }
}

TEST(Convolution, GradientsArriveInTheGivenArray) {
  const NDArray x = random_array({2, 3, 6, 6}, 1), dy = random_array({2, 4, 4, 4}, 2);
  const OpDef& op = find_op("_convolution_weight_gradient");
  const AttrsPtr attrs = attrs_of(op, {{"kernel", Shape{3, 3}}, {"num_filter", int64_t{4}}, {"no_bias", true}});
  NDArray into = full({4, 3, 3, 3}, -1, DType::kFloat32, Device{});
  const NDArray inputs[] = {x, dy};
  NDArray outputs[] = {into};
  invoke(op, attrs, inputs, outputs);
  EXPECT_EQ(floats(into), floats(call(op, attrs, {x, dy})));
}

}  // namespace
}  // namespace headrace
