// Layers against values computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <headrace/headrace.hpp>

#include "tests/support/arrays.h"

namespace headrace {
namespace {

namespace nn = gluon::nn;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

NDArray count(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return array(values, shape);
}

template <class Layer>
NDArray result_of(Layer layer, const NDArray& x) {
  layer.initialize(init::One());
  return layer(x);
}

// Of an array that could be computed.
Shape computed_shape(const NDArray& y) {
  y.wait_to_read();
  return y.shape();
}

Shape shape_of(gluon::Block& block, const char* name) { return block.collect_params().at(name)->shape(); }

TEST(Layers, ConvolutionsSumTheirWindows) {
  EXPECT_THAT(result_of(nn::Conv1D(1, 2), count({1, 1, 4})).to_vector<float>(), ElementsAre(1, 3, 5));
  EXPECT_THAT(
      result_of(nn::Conv2D(1, {2, 1}, {.strides = 2, .padding = {1, 0}}), count({1, 1, 2, 3})).to_vector<float>(),
      ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(result_of(nn::Conv3D(1, 2), count({1, 1, 2, 2, 2})).to_vector<float>(), ElementsAre(28));
  EXPECT_THAT(result_of(nn::Conv1D(1, 2, {.dilation = 2}), count({1, 1, 4})).to_vector<float>(), ElementsAre(2, 4));
  NDArray negative = count({1, 1, 4}) - 2;
  EXPECT_THAT(result_of(nn::Conv1D(1, 1, {.activation = "relu"}), negative).to_vector<float>(),
              ElementsAre(0, 0, 0, 1));
}

TEST(Layers, ConvolutionsLearnTheirShapes) {
  nn::Conv2D plain(6, 3, {.groups = 2}), last(6, {3, 2}, {.layout = "NHWC", .use_bias = false});
  nn::Conv2DTranspose transposed(6, 3, {.groups = 2});
  EXPECT_EQ(shape_of(plain, "weight"), (Shape{6, 0, 3, 3}));
  for (gluon::Block* block : std::initializer_list<gluon::Block*>{&plain, &last, &transposed}) block->initialize();
  EXPECT_EQ(computed_shape(plain(np::ones({1, 4, 5, 5}))), (Shape{1, 6, 3, 3}));
  EXPECT_EQ(computed_shape(last(np::ones({1, 5, 5, 4}))), (Shape{1, 3, 4, 6}));
  EXPECT_EQ(computed_shape(transposed(np::ones({1, 4, 5, 5}))), (Shape{1, 6, 7, 7}));
  EXPECT_EQ(shape_of(plain, "weight"), (Shape{6, 2, 3, 3}));
  EXPECT_EQ(shape_of(plain, "bias"), (Shape{6}));
  EXPECT_EQ(shape_of(last, "weight"), (Shape{6, 3, 2, 4}));
  EXPECT_EQ(last.collect_params().size(), 1U);
  EXPECT_EQ(shape_of(transposed, "weight"), (Shape{4, 3, 3, 3}));
  EXPECT_EQ(kind_of([&] { plain(np::ones({1, 6, 5, 5})); }), ErrorKind::kRuntime);
  nn::Conv2D known(6, 3, {.groups = 2, .in_channels = 4});
  EXPECT_EQ(shape_of(known, "weight"), (Shape{6, 2, 3, 3}));
}

TEST(Layers, TransposedConvolutionsSpreadTheirData) {
  NDArray x = count({1, 1, 3});
  EXPECT_THAT(result_of(nn::Conv1DTranspose(1, 2, {.strides = 2}), x).to_vector<float>(),
              ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(result_of(nn::Conv1DTranspose(1, 2, {.output_padding = 0}), x).to_vector<float>(),
              ElementsAre(0, 1, 3, 2));
  EXPECT_EQ(
      computed_shape(result_of(nn::Conv2DTranspose(1, 3, {.strides = 2, .output_padding = 1}), np::ones({1, 1, 2, 2}))),
      (Shape{1, 1, 6, 6}));
}

TEST(Layers, WrongImageSettingsAreRefusedAtOnce) {
  EXPECT_EQ(kind_of([] { nn::Conv2D(0, 3); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nn::Conv2D(3, 3, {.groups = 2}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nn::Conv2D(2, {3, 3, 3}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nn::Conv2D(2, 3, {.layout = "NCW"}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nn::Conv2D(2, 3, {.activation = "rellu"}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nn::Conv2D(2, 3, {.output_padding = 1}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nn::MaxPool2D({2, 2, 2}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nn::GlobalAvgPool3D("NHWC"); }), ErrorKind::kValue);
}

TEST(Layers, PoolingsTakeMaximaAndMeans) {
  NDArray x = count({1, 1, 5}), image = count({1, 1, 2, 4}), volume = count({1, 1, 2, 2, 2});
  EXPECT_THAT(nn::MaxPool1D()(x).to_vector<float>(), ElementsAre(1, 3));
  EXPECT_THAT(nn::MaxPool1D(2, {.ceil_mode = true})(x).to_vector<float>(), ElementsAre(1, 3, 4));
  EXPECT_THAT(nn::AvgPool1D(2, {.strides = 1})(x).to_vector<float>(), ElementsAre(0.5, 1.5, 2.5, 3.5));
  EXPECT_THAT(nn::AvgPool1D(2, {.padding = 1})(x).to_vector<float>(), ElementsAre(0, 1.5, 3.5));
  EXPECT_THAT(nn::AvgPool1D(2, {.padding = 1, .count_include_pad = false})(x + 1).to_vector<float>(),
              ElementsAre(1, 2.5, 4.5));
  EXPECT_THAT(nn::MaxPool2D({2, 1}, {.strides = {2, 2}})(image).to_vector<float>(), ElementsAre(4, 6));
  EXPECT_THAT(nn::AvgPool2D()(image).to_vector<float>(), ElementsAre(2.5, 4.5));
  EXPECT_THAT(nn::MaxPool3D()(volume).to_vector<float>(), ElementsAre(7));
  EXPECT_THAT(nn::AvgPool3D()(volume).to_vector<float>(), ElementsAre(3.5));
  EXPECT_THAT(nn::GlobalMaxPool2D()(image).to_vector<float>(), ElementsAre(7));
  EXPECT_EQ(computed_shape(nn::GlobalAvgPool2D()(np::ones({2, 3, 4, 5}))), (Shape{2, 3, 1, 1}));
  EXPECT_EQ(computed_shape(nn::GlobalAvgPool2D("NHWC")(np::ones({2, 4, 5, 3}))), (Shape{2, 1, 1, 3}));
  EXPECT_THAT(nn::GlobalAvgPool1D()(x).to_vector<float>(), ElementsAre(2));
}

TEST(Layers, BatchNormLearnsStatisticsInTrainingAndUsesThemAfterwards) {
  nn::BatchNorm norm;
  norm.initialize();
  NDArray x = array({1, 10, 3, 30}, {2, 2}), y, loss;  // means 2, 20; variances 1, 100
  const std::vector<float> normalized = {-1, -1, 1, 1};
  {
    autograd::RecordScope scope;
    y = norm(x);
    loss = y * x;
  }
  EXPECT_THAT(y.to_vector<float>(), Pointwise(FloatNear(1e-4), normalized));
  autograd::backward(loss);
  auto parameters = norm.collect_params();
  EXPECT_THAT(parameters["running_mean"]->data().to_vector<float>(), Pointwise(FloatNear(1e-5), {0.2F, 2.0F}));
  EXPECT_THAT(parameters["running_var"]->data().to_vector<float>(), Pointwise(FloatNear(1e-4), {1.0F, 10.9F}));
  EXPECT_THAT(parameters["beta"]->grad().to_vector<float>(), ElementsAre(4, 40));
  EXPECT_EQ(kind_of([&] { (void)parameters["running_mean"]->grad(); }), ErrorKind::kValue);
  EXPECT_THAT(norm(x).to_vector<float>(),
              Pointwise(FloatNear(1e-4), {0.8F, 8 / std::sqrt(10.9F), 2.8F, 28 / std::sqrt(10.9F)}));
  gluon::Trainer(parameters, "sgd").step(1);  // leaves the statistics alone
  EXPECT_EQ(nn::BatchNorm({.scale = false}).collect_params()["gamma"]->grad_req(), "null");
}

TEST(Layers, OtherNormalisations) {
  NDArray x = array({1, 3, 10, 30}, {1, 2, 2});
  const std::vector<float> by_channel = {-1, 1, -1, 1};
  EXPECT_THAT(result_of(nn::InstanceNorm(), x).to_vector<float>(), Pointwise(FloatNear(1e-4), by_channel));
  EXPECT_THAT(result_of(nn::GroupNorm(2), x).to_vector<float>(), Pointwise(FloatNear(1e-4), by_channel));
  EXPECT_THAT(result_of(nn::LayerNorm(), x).to_vector<float>(), Pointwise(FloatNear(1e-4), by_channel));
  EXPECT_EQ(shape_of(*std::make_unique<nn::GroupNorm>(2), "gamma"), (Shape{2}));
}

TEST(Layers, ActivationsByTheirFormulas) {
  NDArray x = array({-1, 2});
  const auto near = [](float a, float b) { return Pointwise(FloatNear(1e-4F), std::vector<float>{a, b}); };
  EXPECT_THAT(nn::LeakyReLU(0.1)(x).to_vector<float>(), near(-0.1F, 2));
  EXPECT_THAT(result_of(nn::PReLU(), x).to_vector<float>(), near(-0.25F, 2));
  EXPECT_THAT(nn::ELU()(x).to_vector<float>(), near(std::exp(-1.0F) - 1, 2));
  EXPECT_THAT(nn::SELU()(x).to_vector<float>(), near(-1.1113F, 2.1014F));
  EXPECT_THAT(nn::GELU()(x).to_vector<float>(), near(-0.1587F, 1.9545F));
  EXPECT_THAT(nn::Swish()(x).to_vector<float>(), near(-1 / (1 + std::exp(1.0F)), 2 / (1 + std::exp(-2.0F))));
  EXPECT_EQ(kind_of([] { nn::LeakyReLU(-1); }), ErrorKind::kValue);
}

TEST(Layers, EmbeddingTakesRows) {
  nn::Embedding table(3, 2, [](const Shape& shape, Device) { return count(shape); });
  table.initialize();
  EXPECT_THAT(table(array({2, 0})).to_vector<float>(), ElementsAre(4, 5, 0, 1));
}

TEST(Layers, DataThatDoNotTellAShapeAreRefused) {
  nn::Dense dense(2);
  dense.initialize();
  EXPECT_EQ(kind_of([&] { dense(np::ones({0, 3, 0})); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { dense(np::ones(Shape{})); }), ErrorKind::kValue);
  EXPECT_EQ(computed_shape(dense(np::ones({1, 3}))), (Shape{1, 2}));
}

TEST(Parameter, CastAndGradientsOnRequest) {
  gluon::Parameter weight("weight", {2});
  weight.initialize(init::One());
  weight.cast(DType::kFloat64);
  EXPECT_THAT(weight.data().to_vector<double>(), ElementsAre(1, 1));
  EXPECT_EQ(weight.grad().dtype(), DType::kFloat64);
  weight.set_grad_req("null");
  EXPECT_EQ(kind_of([&] { (void)weight.grad(); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { weight.set_grad_req("ad"); }), ErrorKind::kValue);
  weight.set_grad_req("add");
  for (int pass = 0; pass < 2; ++pass) {
    NDArray y;
    {
      autograd::RecordScope scope;
      y = weight.data() * 3;
    }
    autograd::backward(y);
  }
  EXPECT_THAT(weight.grad().to_vector<double>(), ElementsAre(6, 6));
}

}  // namespace
}  // namespace headrace
