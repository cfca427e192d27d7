// Layers, losses and the trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <headrace/headrace.hpp>

#include "tests/gluon/line_learner.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"

namespace headrace {
namespace {

namespace nn = gluon::nn;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

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
  auto path = own_path("network.params");
  nn::Sequential saved, loaded, other;
  saved.add(nn::Dense(3), nn::Dense(2));
  loaded.add(nn::Dense(3), nn::Dense(2));
  other.add(nn::Dense(3));
  saved.initialize(init::Xavier());
  NDArray x = array({1, 2}, {1, 2});
  auto expected = saved(x).to_vector<float>();
  saved.save_parameters(path);
  loaded.load_parameters(path);
  EXPECT_EQ(loaded(x).to_vector<float>(), expected);
  EXPECT_EQ(kind_of([&] { other.load_parameters(path); }), ErrorKind::kValue);
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

using State = std::array<double, 3>;

double sign(double x) { return (x > 0) - (x < 0); }

double adam(double w, State& s, double t) {
  s[0] = 0.9 * s[0] + 0.1 * w;
  s[1] = 0.999 * s[1] + 0.001 * w * w;
  return w - 0.1 * s[0] / (1 - std::pow(0.9, t)) / std::sqrt(s[1] / (1 - std::pow(0.999, t)));
}
double nag(double w, State& s, double) {
  s[0] = 0.9 * s[0] - 0.1 * w;
  return w + 0.9 * s[0] - 0.1 * w;
}
double signum(double w, State& s, double) {
  s[0] = 0.9 * s[0] + 0.1 * w;
  return w - 0.1 * sign(s[0]);
}
double rmsprop(double w, State& s, double) {
  s[0] = 0.9 * s[0] + 0.1 * w * w;
  return w - 0.1 * w / std::sqrt(s[0]);
}
double rmsprop_centered(double w, State& s, double) {
  s[0] = 0.9 * s[0] + 0.1 * w * w;
  s[1] = 0.9 * s[1] + 0.1 * w;
  s[2] = 0.5 * s[2] - 0.1 * w / std::sqrt(s[0] - s[1] * s[1]);
  return w + s[2];
}
double ftrl(double w, State& s, double) {
  const double n = s[1] + w * w;
  s[0] += w - (std::sqrt(n) - std::sqrt(s[1])) * w / 0.1;
  s[1] = n;
  return std::abs(s[0]) > 0.01 ? (sign(s[0]) * 0.01 - s[0]) / ((1 + std::sqrt(n)) / 0.1) : 0;
}
double ftml_by(double g, double w, State& s, double t) {
  s[0] = 0.999 * s[0] + 0.001 * g * g;
  const double d = (1 - std::pow(0.6, t)) / 0.1 * std::sqrt(s[0] / (1 - std::pow(0.999, t)));
  s[1] = 0.6 * s[1] + 0.4 * g - (d - 0.6 * s[2]) * w;
  s[2] = d;
  return -s[1] / d;
}
double ftml(double w, State& s, double t) { return ftml_by(w, w, s, t); }
double ftml_clipped(double w, State& s, double t) { return ftml_by(0.2, w, s, t); }

TEST(Trainer, StepsByTheFormulas) {
  struct {
    const char* optimizer;
    gluon::OptimizerParams settings;  // beside a learning rate of 0.1
    double (*step)(double w, State& state, double t);
  } const cases[] = {
      {"sgd", {}, [](double w, State&, double) { return 0.9 * w; }},
      {"sgd", {{"wd", 0.5}, {"clip_gradient", 0.2}}, [](double w, State&, double) { return w - 0.02 - 0.05 * w; }},
      {"sgd", {{"momentum", 0.5}}, [](double w, State& s, double) { return w + (s[0] = 0.5 * s[0] - 0.1 * w); }},
      {"nag", {{"momentum", 0.9}}, nag},
      {"signum", {}, signum},
      {"signum", {{"momentum", 0}}, [](double w, State&, double) { return w - 0.1 * sign(w); }},
      {"adam", {}, adam},
      {"rmsprop", {}, rmsprop},
      {"rmsprop", {{"centered", true}, {"gamma2", 0.5}}, rmsprop_centered},
      {"ftrl", {}, ftrl},
      {"ftml", {}, ftml},
      {"ftml", {{"clip_gradient", 0.2}}, ftml_clipped},
  };
  for (const auto& [optimizer, settings, step] : cases) {
    LineLearner learner(optimizer, settings);
    learner.trainer.set_learning_rate(0.1);
    learner.learn(3);
    State state{};
    double expected = 1;
    for (int t = 1; t <= 3; ++t) expected = step(expected, state, t);
    EXPECT_NEAR(learner.weight(), expected, 1e-5) << optimizer << " " << ::testing::PrintToString(settings);
  }
}

TEST(Trainer, LeavesWholeNumbersAlone) {
  const auto counts = std::make_shared<gluon::Parameter>("counts", Shape{2});
  counts->initialize(init::One());
  counts->cast(DType::kInt32);
  EXPECT_FALSE(counts->has_gradient());
  gluon::Trainer trainer({{"counts", counts}}, "sgd");
  trainer.step(1);
  EXPECT_EQ(counts->data().to_vector<int32_t>(), (std::vector<int32_t>{1, 1}));
}

TEST(Trainer, StatesGoToAFileAndBack) {
  auto path = own_path("trainer.params");
  for (const char* optimizer : {"sgd", "adam", "ftml"}) {
    LineLearner first(optimizer, {}), second(optimizer, {});
    first.learn(2);
    first.trainer.set_learning_rate(0.25);
    first.trainer.save_states(path);
    second.dense.collect_params()["weight"]->set_data(first.dense.collect_params()["weight"]->data());
    second.trainer.load_states(path);
    EXPECT_EQ(second.trainer.learning_rate(), 0.25);
    first.learn(2);
    second.learn(2);
    EXPECT_EQ(first.weight(), second.weight()) << optimizer;
  }
  std::filesystem::remove(path);
}

TEST(Trainer, StatesThatDoNotFitAreRefusedAndChangeNothing) {
  auto path = own_path("trainer_refused.params");
  LineLearner learner("sgd", {{"momentum", 0.9}}), adam("adam", {});
  EXPECT_EQ(kind_of([&] { learner.trainer.load_states(path); }), ErrorKind::kRuntime);  // there is none
  learner.learn(1);
  learner.trainer.save_states(path);
  EXPECT_EQ(kind_of([&] { adam.trainer.load_states(path); }), ErrorKind::kValue);
  EXPECT_EQ(adam.trainer.learning_rate(), 0.001);
  nn::Dense wide(3, {.use_bias = false, .in_units = 1}), unready(1, {.use_bias = false});
  wide.initialize();
  gluon::Trainer of_wide(wide.collect_params(), "sgd", {{"momentum", 0.9}});
  gluon::Trainer of_unready(unready.collect_params(), "sgd", {{"momentum", 0.9}});
  EXPECT_EQ(kind_of([&] { of_wide.load_states(path); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { of_unready.load_states(path); }), ErrorKind::kRuntime);
  learner.dense.save_parameters(path);
  EXPECT_EQ(kind_of([&] { learner.trainer.load_states(path); }), ErrorKind::kValue);
  std::filesystem::resize_file(path, 20);
  EXPECT_EQ(kind_of([&] { learner.trainer.load_states(path); }), ErrorKind::kRuntime);
  std::filesystem::remove(path);
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
