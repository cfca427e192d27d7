// Trainer on several devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <headrace/headrace.hpp>

#include "tests/gluon/first_devices.h"
#include "tests/gluon/wrapped_store.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"

namespace headrace {
namespace {

namespace nn = gluon::nn;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

// The mean loss of each step on one batch of 22 samples.
std::vector<float> loss_curve(const std::vector<Device>& devices, const char* optimizer,
                              const gluon::OptimizerParams& settings, const gluon::TrainerOptions& options) {
  random::seed(3);
  nn::Sequential net;
  net.add(nn::Conv2D(6, 3, {.activation = "relu"}), nn::MaxPool2D(), nn::Dense(300, {.activation = "relu"}),
          nn::Dense(10));
  net.initialize(init::Xavier(), devices);
  net.hybridize();
  gluon::Trainer trainer(net.collect_params(), optimizer, settings, options);
  gluon::loss::SoftmaxCrossEntropyLoss loss_of;
  std::vector<float> classes;
  for (int i = 0; i < 22; ++i) classes.push_back(static_cast<float>(i * 7 % 10));
  const auto xs = gluon::utils::split_and_load(varied({22, 1, 14, 14}, DType::kFloat32, 5), devices, 0, false);
  const auto ys = gluon::utils::split_and_load(array(classes), devices, 0, false);
  std::vector<float> curve;
  for (int step = 0; step < 5; ++step) {
    std::vector<NDArray> losses;
    {
      autograd::RecordScope scope;
      for (size_t i = 0; i < devices.size(); ++i) losses.push_back(loss_of(net(xs[i]), ys[i]));
    }
    for (const NDArray& loss : losses) autograd::backward(loss);
    trainer.step(22);
    double sum = 0;
    for (const NDArray& loss : losses) sum += nd::sum(loss.detach()).item();
    curve.push_back(static_cast<float>(sum / 22));
  }
  return curve;
}

TEST(TrainerOnDevices, SeveralLearnWhatOneLearns) {
  for (const auto& [optimizer, settings] : std::map<const char*, gluon::OptimizerParams>{
           {"sgd", {{"learning_rate", 0.1}, {"momentum", 0.9}}}, {"adam", {{"learning_rate", 0.003}}}}) {
    const std::vector<float> one = loss_curve(first_devices(1), optimizer, settings, {});
    EXPECT_LT(one.back(), one.front());
    for (int count : {2, 4})
      for (bool on_store : {true, false})
        EXPECT_THAT(loss_curve(first_devices(count), optimizer, settings, {.update_on_kvstore = on_store}),
                    Pointwise(FloatNear(1e-5F), one));
  }
}

// A parameter of two ones with the gradient `factor` on each device; nullopt: it stays stale there.
struct DeviceLearner {
  explicit DeviceLearner(int count, const gluon::TrainerOptions& options = {},
                         const gluon::OptimizerParams& settings = {}, const char* optimizer = "sgd")
      : weight(prepared(count)), trainer({{"w", weight}}, optimizer, with_rate(settings), options) {}

  static std::shared_ptr<gluon::Parameter> prepared(int count) {
    auto made = std::make_shared<gluon::Parameter>("w", Shape{2});
    made->initialize(init::One(), first_devices(count));
    return made;
  }
  static gluon::OptimizerParams with_rate(gluon::OptimizerParams settings) {
    settings.emplace("learning_rate", 1);
    return settings;
  }
  void backward(const std::vector<std::optional<double>>& factors) {
    for (size_t i = 0; i < factors.size(); ++i) {
      if (!factors[i]) continue;
      NDArray loss;
      {
        autograd::RecordScope scope;
        loss = weight->data(cpu(static_cast<int>(i))) * *factors[i];
      }
      autograd::backward(loss);
    }
  }
  void learn(const std::vector<std::optional<double>>& factors, int64_t batch_size = 1) {
    backward(factors);
    trainer.step(batch_size);
  }
  std::vector<float> values() const {
    std::vector<float> all;
    for (const NDArray& one : weight->list_data())
      for (float value : one.to_vector<float>()) all.push_back(value);
    return all;
  }

  std::shared_ptr<gluon::Parameter> weight;
  gluon::Trainer trainer;
};

TEST(TrainerOnDevices, GradientsAreSummedAndDividedByTheBatchSize) {
  for (const gluon::TrainerOptions& options :
       {gluon::TrainerOptions{}, {.kvstore = "local"}, {.update_on_kvstore = false}}) {
    DeviceLearner learner(2, options);
    learner.learn({1, 2}, 4);
    EXPECT_THAT(learner.values(), Each(0.25));
  }
}

TEST(TrainerOnDevices, WithoutAStoreReplicasDriftApart) {
  DeviceLearner learner(2, {.kvstore = ""});
  learner.learn({1, 2});
  EXPECT_THAT(learner.values(), ElementsAre(0, 0, -1, -1));
}

TEST(TrainerOnDevices, TheHalvesOfAStep) {
  DeviceLearner learner(2, {.update_on_kvstore = false});
  learner.backward({1, 2});
  learner.trainer.allreduce_grads();
  for (const NDArray& gradient : learner.weight->list_grad())
    EXPECT_THAT(gradient.to_vector<float>(), ElementsAre(3, 3));
  learner.trainer.update(3);
  EXPECT_THAT(learner.values(), Each(0));
  DeviceLearner on_store(2);
  EXPECT_EQ(kind_of([&] { on_store.trainer.allreduce_grads(); }), ErrorKind::kRuntime);
  EXPECT_EQ(kind_of([&] { on_store.trainer.update(1); }), ErrorKind::kRuntime);
}

TEST(TrainerOnDevices, StaleGradientsAreFoundBeforeAnythingChanges) {
  for (bool on_store : {true, false}) {
    DeviceLearner learner(2, {.update_on_kvstore = on_store});
    learner.learn({1, 2});
    learner.backward({5, {}});
    EXPECT_EQ(kind_of([&] { learner.trainer.step(1); }), ErrorKind::kRuntime);
    EXPECT_THAT(learner.values(), Each(-2));
    learner.trainer.step(1, true);
    EXPECT_THAT(learner.values(), Each(-7));  // it counted as zero
    learner.trainer.step(1, true);
    EXPECT_THAT(learner.values(), Each(-7));
  }
}

TEST(TrainerOnDevices, ValuesThatAreSetInBetweenCount) {
  for (const gluon::TrainerOptions& options : {gluon::TrainerOptions{}, {.update_on_kvstore = false}}) {
    DeviceLearner learner(2, options, {{"momentum", 0.5}});
    learner.learn({1, 2});
    learner.weight->set_data(array({10, 10}));
    learner.learn({1, 2});
    EXPECT_THAT(learner.values(), Each(10 - 4.5));
    learner.weight->reset_ctx(first_devices(3));
    learner.learn({1, 1, 1});
    EXPECT_THAT(learner.values(), Each(5.5 - 5.25));
    learner.weight->reset_ctx({cpu(0)});
    learner.learn({3});
    EXPECT_THAT(learner.values(), Each(0.25 - 5.625));
  }
}

TEST(TrainerOnDevices, StatesGoToOtherNumbersOfDevices) {
  const auto path = own_path("trainer_devices.params");
  struct Setup {
    int devices;
    bool on_store;
  };
  const Setup setups[] = {{1, true}, {2, true}, {3, false}};
  const auto gradients = [](int count) {
    std::vector<std::optional<double>> all(static_cast<size_t>(count), 0);
    all[0] = 3;
    return all;
  };
  DeviceLearner reference(1, {}, {}, "adam");
  for (int i = 0; i < 4; ++i) reference.learn(gradients(1));
  for (const Setup& before : setups)
    for (const Setup& after : setups) {
      DeviceLearner first(before.devices, {.update_on_kvstore = before.on_store}, {}, "adam");
      DeviceLearner second(after.devices, {.update_on_kvstore = after.on_store}, {}, "adam");
      for (int i = 0; i < 2; ++i) first.learn(gradients(before.devices));
      first.trainer.save_states(path);
      second.weight->set_data(first.weight->data());
      second.trainer.load_states(path);
      for (int i = 0; i < 2; ++i) second.learn(gradients(after.devices));
      EXPECT_THAT(second.values(), Each(reference.values()[0]));
    }
  std::filesystem::remove(path);
}

TEST(TrainerOnDevices, CompressionKeepsWhatIsLeftOver) {
  DeviceLearner learner(2, {.update_on_kvstore = false, .compression = kvstore::TwoBitCompression{0.5}});
  learner.learn({0.3, 2});
  EXPECT_THAT(learner.values(), Each(0.5));
  learner.learn({0.3, -0.1});
  EXPECT_THAT(learner.values(), Each(-0.5));
}

// A store in host memory that writes down what it reduces and what it updates.
class CallRecorder final : public WrappedStore {
 public:
  static std::vector<int64_t>& reduced() {
    static std::vector<int64_t> keys;
    return keys;
  }
  static std::vector<int64_t>& updated() {
    static std::vector<int64_t> keys;
    return keys;
  }

  CallRecorder() : WrappedStore("device") {}

  void pushpull(std::span<const kvstore::Item> values, std::span<const kvstore::Item> outs, int priority) override {
    for (const kvstore::Item& item : values) reduced().push_back(std::get<int64_t>(item.key));
    WrappedStore::pushpull(values, outs, priority);
  }
  void set_updater(kvstore::Updater updater) override {
    WrappedStore::set_updater([updater](std::span<const kvstore::Update> all) {
      for (const kvstore::Update& one : all) updated().push_back(std::get<int64_t>(one.key));
      updater(all);
    });
  }
};

TEST(TrainerOnDevices, ReducesAsBackwardGoesAndUpdatesAsParametersCome) {
  kvstore::register_kind({"recorder", "for this test", [](const std::string&, const kvstore::Options&) {
                            return std::make_unique<CallRecorder>();
                          }});
  gluon::ParameterDict parameters;
  for (const char* name : {"a", "b", "c"}) parameters.emplace(name, DeviceLearner::prepared(2));
  gluon::Trainer trainer(parameters, "sgd", {{"learning_rate", 1}}, {.kvstore = "recorder"});
  for (const auto& [name, parameter] : parameters)
    for (const NDArray& replica : parameter->list_data()) {
      NDArray loss;
      {
        autograd::RecordScope scope;
        loss = replica * 2;
      }
      autograd::backward(loss);
    }
  trainer.step(1);
  EXPECT_THAT(CallRecorder::reduced(), ElementsAre(2, 1, 0));
  EXPECT_THAT(CallRecorder::updated(), ElementsAre(0, 1, 2));
  for (const auto& [name, parameter] : parameters) EXPECT_THAT(parameter->data(cpu(1)).to_vector<float>(), Each(-3));
}

TEST(TrainerOnDevices, WhatIsRefused) {
  DeviceLearner unknown(2, {.kvstore = "nowhere"});
  unknown.backward({1, 2});
  EXPECT_EQ(kind_of([&] { unknown.trainer.step(1); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { gluon::Trainer({}, "sgd"); }), ErrorKind::kValue);
  gluon::Trainer mixed({{"a", DeviceLearner::prepared(1)}, {"b", DeviceLearner::prepared(2)}}, "sgd");
  EXPECT_EQ(kind_of([&] { mixed.step(1, true); }), ErrorKind::kValue);
}

TEST(TrainerOnDevices, ATrainerCanMove) {
  DeviceLearner learner(2);
  learner.learn({1, 2});
  gluon::Trainer moved = std::move(learner.trainer);
  learner.backward({1, 2});
  moved.step(1);
  EXPECT_THAT(learner.values(), Each(-5));
}

}  // namespace
}  // namespace headrace
