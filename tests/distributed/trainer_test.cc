// Trainer of workers that share servers, which all are threads here.
#include <gmock/gmock.h>

#include "headrace/arithmetic.hpp"
#include "headrace/autograd.hpp"
#include "headrace/gluon/trainer.hpp"
#include "headrace/init.hpp"
#include "tests/distributed/cluster.h"
#include "tests/support/arrays.h"

namespace headrace::distributed {
namespace {

using testing::Each;

class TrainerOnServers : public ClusterTest {
 protected:
  using Train = std::function<void(int rank)>;

  // Calls `train` in each of the workers, where "served" is a store that they share.
  void on_workers(int workers, const Train& train) {
    static const bool is_registered = [] {
      kvstore::register_kind({"served",
                              "workers are threads",
                              [](const std::string&, const kvstore::Options&) {
                                return std::make_unique<RemoteStore>("dist_sync", kvstore::Sharing{},
                                                                     kvstore::make_host_communicator(), *session());
                              },
                              {kvstore::Capability::kDistributed}});
      return true;
    }();
    ASSERT_TRUE(is_registered);
    run_sessions(workers, 2, false, program_, [&](Session& own) {
      session() = &own;
      train(own.rank());
      own.barrier();
    });
  }

  // That of the worker which this thread is.
  static Session*& session() {
    thread_local Session* own = nullptr;
    return own;
  }

  static gluon::ParameterDict parameters(std::initializer_list<const char*> names) {
    gluon::ParameterDict made;
    for (const char* name : names) {
      made[name] = std::make_shared<gluon::Parameter>(name, Shape{4});
      made[name]->initialize(init::One());
    }
    return made;
  }

  // Has backward write the gradients of the named ones: that of each is `batch` times twice its value.
  static void learn(const gluon::ParameterDict& parameters, std::initializer_list<const char*> names,
                    const NDArray& batch) {
    NDArray loss;
    {
      autograd::RecordScope scope;
      loss = batch * 0;
      for (const char* name : names) {
        const NDArray value = parameters.at(name)->data();
        loss = loss + value * value * batch;
      }
    }
    autograd::backward(loss);
  }

  static std::vector<float> values(const gluon::ParameterDict& parameters) {
    std::vector<float> all;
    for (const auto& [name, parameter] : parameters)
      for (float value : parameter->data().to_vector<float>()) all.push_back(value);
    return all;
  }
};

// Its momentum and weight decay go on, as those of a layer that all leave out.
TEST_F(TrainerOnServers, WhatOneLeavesOutCountsAsZeros) {
  constexpr int kWorkers = 3, kSteps = 4;
  const gluon::OptimizerParams settings{{"learning_rate", 0.05}, {"momentum", 0.9}, {"wd", 0.01}};
  const auto batch = [](int step, int rank) { return varied({4}, DType::kFloat32, 10 * step + rank); };
  const gluon::ParameterDict alone = parameters({"all", "none", "some"});
  gluon::Trainer reference(alone, "sgd", settings);
  for (int step = 0; step < kSteps; ++step) {
    const NDArray of_some = batch(step, 0) + batch(step, 2), of_all = of_some + batch(step, 1);
    NDArray loss;
    {
      autograd::RecordScope scope;
      const auto term = [&](const char* name, const NDArray& factor) {
        const NDArray value = alone.at(name)->data();
        return value * value * factor;
      };
      loss = term("all", of_all) + term("some", step == 2 ? of_all * 0 : of_some) + term("none", of_all * 0);
    }
    autograd::backward(loss);
    reference.step(8);
  }
  std::vector<std::vector<float>> found(kWorkers);
  on_workers(kWorkers, [&](int rank) {
    const gluon::ParameterDict own = parameters({"all", "none", "some"});
    gluon::Trainer trainer(own, "sgd", settings, {.kvstore = "served"});
    for (int step = 0; step < kSteps; ++step) {
      if (rank == 1 || step == 2)
        learn(own, {"all"}, batch(step, rank));
      else
        learn(own, {"all", "some"}, batch(step, rank));
      trainer.step(8, true);
    }
    found[static_cast<size_t>(rank)] = values(own);
  });
  for (const std::vector<float>& one : found) EXPECT_EQ(one, found[0]);
  EXPECT_THAT(found[0], testing::Pointwise(testing::FloatNear(1e-5F), values(alone)));
}

// Of two workers one writes all of its gradients, backward those of the other.
TEST_F(TrainerOnServers, GradientsThatProgramsWriteAreSummed) {
  on_workers(2, [&](int rank) {
    const gluon::ParameterDict own = parameters({"first", "second"});
    gluon::Trainer trainer(own, "sgd", {{"learning_rate", 1.0}}, {.kvstore = "served"});
    for (int step = 1; step <= 3; ++step) {
      if (rank == 0)
        for (const auto& [name, parameter] : own) copy_into(parameter->grad(), filled({4}, 10 * step));
      else
        learn(own, {"first"}, filled({4}, 0.5));
      const float before = own.at("first")->data().to_vector<float>()[0];
      trainer.allreduce_grads();
      EXPECT_THAT(own.at("first")->grad().to_vector<float>(), Each(10 * step + before));
      EXPECT_THAT(own.at("second")->grad().to_vector<float>(), Each(10 * step));
      trainer.update(1, true);
      EXPECT_THAT(own.at("first")->data().to_vector<float>(), Each(-10 * step));
    }
    EXPECT_THAT(own.at("second")->data().to_vector<float>(), Each(1 - 10 - 20 - 30));
  });
}

}  // namespace
}  // namespace headrace::distributed
