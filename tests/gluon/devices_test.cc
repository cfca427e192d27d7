// Parameters, networks and batches on several devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <headrace/headrace.hpp>
#include <headrace/sim.hpp>

#include "tests/support/arrays.h"
#include "tests/support/files.h"

namespace headrace {
namespace {

namespace nn = gluon::nn;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

const std::vector<Device> kTwo{cpu(0), cpu(1)}, kFour{cpu(0), cpu(1), cpu(2), cpu(3)};

TEST(Devices, ReplicasHaveEqualValuesAndGradientsOfTheirOwn) {
  gluon::Parameter weight("weight", {3, 2});
  weight.initialize(init::Xavier(), kTwo);
  EXPECT_EQ(weight.list_ctx(), kTwo);
  const std::vector<NDArray> replicas = weight.list_data();
  ASSERT_EQ(replicas.size(), 2u);
  EXPECT_EQ(replicas[1].device(), cpu(1));
  EXPECT_EQ(weight.grad(cpu(1)).device(), cpu(1));
  EXPECT_EQ(bytes_of(replicas[0]), bytes_of(replicas[1]));
  EXPECT_NE(replicas[0].view()->storage(), replicas[1].view()->storage());
  EXPECT_EQ(weight.data().view(), replicas[0].view());  // the thread's device
  EXPECT_EQ(weight.list_grad().size(), 2u);
}

TEST(Devices, OneSeedGivesOneNetworkWhereverItIs) {
  std::vector<std::string> drawn;
  for (const auto& devices : {std::vector<Device>{}, {cpu(3)}, kTwo}) {
    random::seed(5);
    gluon::Parameter weight("weight", {40, 30});
    weight.initialize(init::Normal(), devices);
    drawn.push_back(bytes_of(weight.list_data().back()));
  }
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_EQ(drawn[0], drawn[2]);
}

TEST(Devices, MovingAParameterTakesTheMeanOfItsReplicas) {
  gluon::Parameter weight("weight", {2});
  weight.initialize(init::One(), kTwo);
  copy_into(weight.data(cpu(1)), array({3, 5}));
  EXPECT_THAT(weight.reduce().to_vector<float>(), ElementsAre(2, 3));
  weight.reset_ctx({cpu(2)});
  EXPECT_EQ(weight.list_ctx(), std::vector<Device>{cpu(2)});
  EXPECT_THAT(weight.data().to_vector<float>(), ElementsAre(2, 3));
  weight.set_data(array({7, 8}));
  weight.reset_ctx(kTwo);
  EXPECT_THAT(weight.data(cpu(1)).to_vector<float>(), ElementsAre(7, 8));
}

TEST(Devices, SetDataAndCastReachAllReplicas) {
  gluon::Parameter weight("weight", {2});
  weight.initialize(init::One(), kTwo);
  weight.set_data(array({1, 2}));
  weight.cast(DType::kFloat64);
  for (const NDArray& one : weight.list_data()) EXPECT_THAT(one.to_vector<double>(), ElementsAre(1, 2));
  EXPECT_EQ(weight.grad(cpu(1)).dtype(), DType::kFloat64);
  weight.set_grad_req("null");
  EXPECT_EQ(kind_of([&] { weight.grad(cpu(1)); }), ErrorKind::kValue);
}

TEST(Devices, WhatAParameterRefuses) {
  gluon::Parameter weight("weight", {2});
  EXPECT_EQ(kind_of([&] { weight.list_ctx(); }), ErrorKind::kRuntime);
  EXPECT_EQ(kind_of([&] { weight.reset_ctx(kTwo); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { weight.initialize(init::One(), {cpu(1), cpu(1)}); }), ErrorKind::kValue);
  weight.initialize(init::One(), {cpu(1), cpu(2)});
  try {
    weight.data();
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "Parameter 'weight' was not initialized on context cpu(0). It was only initialized on [cpu(1), "
                 "cpu(2)].");
  }
}

TEST(Devices, BatchesAreSplit) {
  const NDArray batch = array({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {5, 2});
  const std::vector<NDArray> uneven = gluon::utils::split_and_load(batch, kTwo, 0, false);
  EXPECT_EQ(uneven[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(uneven[1].device(), cpu(1));
  EXPECT_THAT(uneven[1].to_vector<float>(), ElementsAre(6, 7, 8, 9));
  const std::vector<NDArray> columns = gluon::utils::split_data(batch, 2, 1);
  EXPECT_THAT(columns[1].to_vector<float>(), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_EQ(gluon::utils::split_data(array({1, 2}, {1, 2}), 2, 0, false)[1].shape(), (Shape{0, 2}));
  EXPECT_EQ(kind_of([&] { gluon::utils::split_and_load(batch, kTwo); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { gluon::utils::split_and_load(batch, {}); }), ErrorKind::kValue);
  EXPECT_THAT(gluon::utils::split_data(batch, 2, -1)[1].to_vector<float>(), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_EQ(kind_of([&] { gluon::utils::split_data(batch, 2, 2); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { gluon::utils::split_data(batch, 2, -3); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { gluon::utils::split_data(batch, 0); }), ErrorKind::kValue);
}

TEST(Devices, NetworksComputeWhereTheirDataAre) {
  for (bool hybridize : {false, true}) {
    nn::Sequential network;
    network.add(nn::Conv2D(4, 3), nn::BatchNorm(), nn::Activation("relu"), nn::Dense(3));
    network.initialize(init::Xavier(), kTwo);
    if (hybridize) network.hybridize();
    const NDArray x = varied({4, 1, 6, 6}, DType::kFloat32, 3);
    std::vector<std::string> outputs, means;
    for (const Device& device : kTwo) {
      NDArray y;
      {
        autograd::RecordScope scope;
        y = network(as_in_context(x, device));
      }
      autograd::backward(y);
      EXPECT_EQ(y.device(), device);
      outputs.push_back(bytes_of(y));
      means.push_back(bytes_of(network.collect_params()["1.running_mean"]->data(device)));
      EXPECT_EQ(network.collect_params()["0.weight"]->grad(device).device(), device);
    }
    EXPECT_EQ(outputs[0], outputs[1]);
    EXPECT_EQ(means[0], means[1]);  // each replica has seen the data once
  }
}

TEST(Devices, FilesHaveTheMeanOfTheReplicas) {
  const auto path = own_path("devices.params");
  nn::Dense saved(1, {.use_bias = false, .in_units = 2}), loaded(1, {.use_bias = false, .in_units = 2});
  saved.initialize(init::One(), kTwo);
  copy_into(saved.collect_params()["weight"]->data(cpu(1)), array({3, 1}, {1, 2}));
  saved.save_parameters(path);
  loaded.initialize(init::Zero(), kFour);
  loaded.load_parameters(path);
  std::filesystem::remove(path);
  EXPECT_THAT(loaded.collect_params()["weight"]->data(cpu(3)).to_vector<float>(), ElementsAre(2, 1));
}

TEST(Devices, WhatALostDeviceHadIsTakenFromTheOthers) {
  sim::configure({.gpus = 2});
  {
    gluon::Parameter weight("weight", {2});
    weight.initialize(init::One(), {gpu(0), gpu(1)});
    weight.set_data(array({4, 5}));
    weight.data(gpu(1)).wait_to_read();
    sim::lose(gpu(1));
    EXPECT_THAT(weight.reduce().to_vector<float>(), ElementsAre(4, 5));
    weight.reset_ctx({gpu(0)});
    EXPECT_THAT(weight.data().to_vector<float>(), ElementsAre(4, 5));
  }
  sim::repair();
}

TEST(Devices, GradientsFlowThroughCopies) {
  NDArray x = array({1, 2});
  autograd::attach_grad(x);
  NDArray y;
  {
    autograd::RecordScope scope;
    const NDArray there = as_in_context(x, cpu(1));
    y = as_in_context(there * there, cpu(2));
  }
  EXPECT_EQ(y.device(), cpu(2));
  autograd::backward(y);
  EXPECT_EQ(autograd::grad_of(x).device(), cpu(0));
  EXPECT_THAT(autograd::grad_of(x).to_vector<float>(), ElementsAre(2, 4));
}

}  // namespace
}  // namespace headrace
