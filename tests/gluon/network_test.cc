// Layers, losses and the trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <headrace/headrace.hpp>

namespace headrace {
namespace {

namespace nn = gluon::nn;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

NDArray array(std::vector<float> values, const Shape& shape) {
  return NDArray::from(std::span<const float>(values), shape);
}

template <class F>
ErrorKind kind_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was raised";
  return ErrorKind::kRuntime;
}

TEST(Layers, DenseLearnsItsNumberOfInputsAndMultiplies) {
  nn::Dense dense(2, {.activation = "relu"});
  dense.initialize(init::One());
  EXPECT_EQ(kind_of([&] { (void)dense.collect_params()["weight"]->data(); }), ErrorKind::kRuntime);
  NDArray y = dense(array({1, 2, 3, -4, -5, -6}, {2, 3, 1}));
  EXPECT_EQ(dense.collect_params()["weight"]->shape(), (Shape{2, 3}));
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(6, 6, 0, 0));
  EXPECT_EQ(kind_of([&] { dense(array({1, 2}, {1, 2})).wait_to_read(); }), ErrorKind::kRuntime);
}

TEST(Layers, WrongSettingsAreRefusedAtOnce) {
  EXPECT_EQ(kind_of([] { nn::Dense(0); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nn::Dense(2, {.activation = "rellu"}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nn::Activation("sine"); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nn::Flatten()(NDArray()); }), ErrorKind::kType);
  EXPECT_EQ(kind_of([] { nn::Dense(2)(array({1}, {1, 1})); }), ErrorKind::kRuntime);  // not initialised
}

TEST(Layers, LayerNormAndDropout) {
  nn::LayerNorm norm;
  norm.initialize();
  EXPECT_THAT(norm(array({1, 3}, {1, 2})).to_vector<float>(), Pointwise(FloatNear(1e-4), std::vector<float>{-1, 1}));
  nn::Dropout dropout(0.5);
  NDArray ones = np::ones({1000});
  EXPECT_EQ(np::sum(dropout(ones)).item(), 1000);
  autograd::RecordScope scope;
  EXPECT_THAT(dropout(ones).to_vector<float>(), ::testing::Each(::testing::AnyOf(0, 2)));
}

TEST(Layers, ParametersGoToAFileAndBack) {
  auto path = std::filesystem::temp_directory_path() / "headrace_network_test.params";
  nn::Sequential saved, loaded, other;
  saved.add(nn::Dense(3), nn::Dense(2));
  loaded.add(nn::Dense(3), nn::Dense(2));
  other.add(nn::Dense(3));
  saved.initialize(init::Xavier());
  NDArray x = array({1, 2}, {1, 2});
  auto expected = saved(x).to_vector<float>();
  saved.save_parameters(path.string());
  loaded.load_parameters(path.string());
  EXPECT_EQ(loaded(x).to_vector<float>(), expected);
  EXPECT_EQ(kind_of([&] { other.load_parameters(path.string()); }), ErrorKind::kValue);
  std::filesystem::remove(path);
}

TEST(Losses, CrossEntropyOfClassesAndOfProbabilities) {
  NDArray scores = array({0, 0, 0, 0}, {2, 2});
  gluon::loss::SoftmaxCrossEntropyLoss sparse, dense{.sparse_label = false};
  const std::vector<float> expected(2, std::log(2.0F));
  EXPECT_THAT(sparse(scores, array({0, 1}, {2})).to_vector<float>(), Pointwise(FloatNear(1e-6), expected));
  EXPECT_THAT(dense(scores, array({0.5, 0.5, 0, 1}, {2, 2})).to_vector<float>(), Pointwise(FloatNear(1e-6), expected));
  EXPECT_THAT(gluon::loss::L2Loss()(scores, array({2, 0, 1, 1}, {4})).to_vector<float>(), ElementsAre(1, 0.5));
  EXPECT_THAT(gluon::loss::L1Loss()(scores, array({2, 0, 1, -1}, {2, 2})).to_vector<float>(), ElementsAre(1, 1));
  EXPECT_EQ(kind_of([&] { gluon::loss::L2Loss()(scores, array({1}, {1})); }), ErrorKind::kRuntime);
}

// Weight of `y = w x` after `steps` steps on x = 1, label 0 from w = 1.
double trained(const char* optimizer, const gluon::OptimizerParams& settings, int steps) {
  nn::Dense dense(1, {.use_bias = false});
  dense.initialize(init::One());
  NDArray x = array({1, 1}, {2, 1}), label = array({0, 0}, {2, 1}), loss;
  dense(x);
  gluon::Trainer trainer(dense.collect_params(), optimizer, settings);
  for (int step = 0; step < steps; ++step) {
    {
      autograd::RecordScope scope;
      loss = gluon::loss::L2Loss()(dense(x), label);
    }
    autograd::backward(loss);
    trainer.step(2);
  }
  return dense.collect_params()["weight"]->data().item();
}

TEST(Trainer, StepsByTheFormulas) {
  EXPECT_FLOAT_EQ(static_cast<float>(trained("sgd", {{"learning_rate", 0.5}}, 2)), 0.25F);
  EXPECT_NEAR(trained("sgd", {{"learning_rate", 0.5}, {"momentum", 0.5}}, 2), 1 - 0.5 - 0.5, 1e-6);
  EXPECT_NEAR(trained("adam", {{"learning_rate", 0.1}}, 1), 0.9, 1e-6);
}

TEST(Trainer, WrongUseIsRefused) {
  nn::Dense dense(1, {.in_units = 1});
  dense.initialize();
  auto parameters = dense.collect_params();
  EXPECT_EQ(kind_of([&] { gluon::Trainer(parameters, "sgdd"); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { gluon::Trainer(parameters, "sgd", {{"beta1", 0.5}}); }), ErrorKind::kType);
  gluon::Trainer trainer(parameters, "sgd");
  EXPECT_EQ(kind_of([&] { trainer.step(1); }), ErrorKind::kRuntime);  // no backward before
  trainer.step(1, true);
  EXPECT_EQ(kind_of([&] { trainer.step(0); }), ErrorKind::kValue);
}

}  // namespace
}  // namespace headrace
