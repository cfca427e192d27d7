// Trainer on several ranks, which are threads here, through a kind of store that is made of public names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <headrace/headrace.hpp>

#include "tests/gluon/first_devices.h"
#include "tests/gluon/wrapped_store.h"
#include "tests/support/arrays.h"
#include "tests/support/team.h"

namespace headrace {
namespace {

namespace nn = gluon::nn;
using kvstore::Capability;
using ::testing::Each;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr int64_t kBatch = 24;
constexpr int kSteps = 5;

// What the kind 'team' makes a store of in this thread.
struct Place {
  Team* team = nullptr;
  int rank = 0;
};
Place& place() {
  thread_local Place here;
  return here;
}

void register_team() {
  static const bool is_done = [] {
    kvstore::register_kind({"team",
                            "ranks are threads",
                            [](const std::string& name, const kvstore::Options& options) {
                              return kvstore::make_store(
                                  name, std::make_unique<TeamCommunicator>(*place().team, place().rank,
                                                                           kvstore::make_device_communicator(options)));
                            },
                            {Capability::kOptimizer, Capability::kCompression, Capability::kDistributed}});
    return true;
  }();
  ASSERT_TRUE(is_done);
}

struct Training {
  const char* optimizer;
  gluon::OptimizerParams settings;
  gluon::TrainerOptions options;
};

// Values that only rank 0 has before the first step.
float first_value(int64_t place) { return 0.4F * std::sin(static_cast<float>(place * place + 1)); }

std::vector<float> values_of(const gluon::ParameterDict& parameters, Device device) {
  std::vector<float> all;
  for (const auto& [name, parameter] : parameters)
    for (float value : parameter->data(device).to_vector<float>()) all.push_back(value);
  return all;
}

// The parameters after some steps on one part of the batch, which `devices` share.
std::vector<float> trained(const Training& training, const std::vector<Device>& devices, int rank, int64_t parts) {
  nn::Sequential net;
  net.add(nn::Dense(16, {.activation = "relu", .in_units = 8}), nn::Dense(5, {.in_units = 16}));
  net.initialize(init::Zero(), devices);
  const gluon::ParameterDict parameters = net.collect_params();
  int64_t number = 0;
  for (const auto& [name, parameter] : parameters) {
    std::vector<float> values(static_cast<size_t>(parameter->data(devices[0]).size()));
    for (float& value : values) value = first_value(number++);
    if (rank == 0) parameter->set_data(array(values, parameter->data(devices[0]).shape()));
  }
  gluon::Trainer trainer(parameters, training.optimizer, training.settings, training.options);
  trainer.step(1, true);  // without gradients: takes the parameters of rank 0
  std::vector<float> classes;
  for (int64_t i = 0; i < kBatch; ++i) classes.push_back(static_cast<float>(i * 3 % 5));
  const auto part_of = [&](const NDArray& whole) {
    return gluon::utils::split_and_load(gluon::utils::split_data(whole, parts)[static_cast<size_t>(rank)], devices);
  };
  const auto xs = part_of(varied({kBatch, 8}, DType::kFloat32, 5)), ys = part_of(array(classes));
  gluon::loss::SoftmaxCrossEntropyLoss loss_of;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<NDArray> losses;
    {
      autograd::RecordScope scope;
      for (size_t i = 0; i < devices.size(); ++i) losses.push_back(loss_of(net(xs[i]), ys[i]));
    }
    for (const NDArray& loss : losses) autograd::backward(loss);
    trainer.step(kBatch);
  }
  const std::vector<float> values = values_of(parameters, devices[0]);
  for (const Device device : devices) EXPECT_EQ(values_of(parameters, device), values);
  return values;
}

TEST(TrainerOnRanks, LearnsWhatOneProcessLearns) {
  register_team();
  const std::pair<const char*, gluon::OptimizerParams> rules[] = {{"sgd", {{"learning_rate", 0.3}, {"momentum", 0.9}}},
                                                                  {"adam", {{"learning_rate", 0.01}}}};
  for (const auto& [optimizer, settings] : rules) {
    const std::vector<float> one = trained({optimizer, settings, {}}, first_devices(1), 0, 1);
    for (const int ranks : {2, 3})
      for (const int devices : {1, 2})
        for (const bool on_store : {true, false}) {
          Team team(ranks);
          std::vector<std::vector<float>> results(static_cast<size_t>(ranks));
          team.run([&](int rank) {
            place() = {&team, rank};
            const Training training{optimizer, settings, {.kvstore = "team", .update_on_kvstore = on_store}};
            results[static_cast<size_t>(rank)] = trained(training, first_devices(devices), rank, ranks);
          });
          for (const std::vector<float>& values : results) EXPECT_EQ(values, results[0]);
          EXPECT_THAT(results[0], Pointwise(FloatNear(1e-5F), one)) << optimizer << ranks << devices << on_store;
          EXPECT_GT(team.exchanges(), 0);
        }
  }
}

std::shared_ptr<gluon::Parameter> weight_on(int devices, float value) {
  auto made = std::make_shared<gluon::Parameter>("w", Shape{2});
  made->initialize(init::Zero(), first_devices(devices));
  made->set_data(array({value, value}));
  return made;
}

TEST(TrainerOnRanks, KeepsItsStore) {
  register_team();
  Team team(2);
  team.run([&](int rank) {
    place() = {&team, rank};
    const auto weight = weight_on(1, static_cast<float>(rank + 3));
    gluon::Trainer trainer({{"w", weight}}, "sgd", {}, {.kvstore = "team"});
    trainer.step(1, true);
    EXPECT_THAT(weight->data().to_vector<float>(), Each(3));
    weight->set_data(array({1, 1}));
    EXPECT_EQ(kind_of([&] { trainer.step(1, true); }), ErrorKind::kRuntime);
    weight->reset_ctx(first_devices(2));
    EXPECT_EQ(kind_of([&] { trainer.step(1, true); }), ErrorKind::kRuntime);
  });
}

// A store in one process with capabilities of another one.
class Pretender final : public WrappedStore {
 public:
  explicit Pretender(std::vector<Capability> capabilities)
      : WrappedStore("local"), capabilities_(std::move(capabilities)) {}

  bool is_capable(Capability capability) const noexcept override {
    return std::ranges::find(capabilities_, capability) != capabilities_.end();
  }
  void set_updater(kvstore::Updater updater) override {
    EXPECT_TRUE(is_capable(Capability::kOptimizer));
    WrappedStore::set_updater(std::move(updater));
  }

 private:
  const std::vector<Capability> capabilities_;
};

void register_pretender(const char* name, const std::vector<Capability>& capabilities) {
  kvstore::register_kind({name, "for these tests",
                          [capabilities](const std::string&, const kvstore::Options&) {
                            return std::make_unique<Pretender>(capabilities);
                          },
                          capabilities});
}

// Whether the store updates, which allreduce_grads() refuses to do without.
bool updates(const char* kind, std::optional<bool> update_on_kvstore) {
  gluon::Trainer trainer({{"w", weight_on(2, 1)}}, "sgd", {},
                         {.kvstore = kind, .update_on_kvstore = update_on_kvstore});
  try {
    trainer.allreduce_grads();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kRuntime) return true;
    throw;
  }
  return false;
}

TEST(TrainerAndCapabilities, WhoUpdates) {
  register_pretender("adder", {});
  register_pretender("late", {Capability::kOptimizer, Capability::kAsynchronous});
  register_pretender("lost", {Capability::kAsynchronous});
  EXPECT_TRUE(updates("local", {}));
  EXPECT_FALSE(updates("local", false));
  EXPECT_FALSE(updates("adder", {}));
  EXPECT_FALSE(updates("adder", false));
  EXPECT_EQ(kind_of([] { updates("adder", true); }), ErrorKind::kValue);
  EXPECT_TRUE(updates("late", {}));
  EXPECT_TRUE(updates("late", true));
  EXPECT_EQ(kind_of([] { updates("late", false); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { updates("lost", {}); }), ErrorKind::kValue);
}

TEST(TrainerAndCapabilities, OneDeviceAsksTheKindWhetherItNeedsAStore) {
  int made = 0;
  const auto make = [&](const std::string&, const kvstore::Options&) {
    ++made;
    return kvstore::create("local");
  };
  kvstore::register_kind({"near", "for this test", make});
  kvstore::register_kind({"far", "for this test", make, {Capability::kDistributed}});
  for (const auto& [kind, expected] : {std::pair{"near", 0}, std::pair{"far", 1}}) {
    made = 0;
    gluon::Trainer trainer({{"w", weight_on(1, 1)}}, "sgd", {}, {.kvstore = kind});
    trainer.step(1, true);
    EXPECT_EQ(made, expected) << kind;
  }
  gluon::Trainer unknown({{"w", weight_on(1, 1)}}, "sgd", {}, {.kvstore = "nowhere"});
  EXPECT_EQ(kind_of([&] { unknown.step(1, true); }), ErrorKind::kValue);
}

}  // namespace
}  // namespace headrace
