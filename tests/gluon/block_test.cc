// What holds of all blocks: names, first values, files, and changes that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <headrace/headrace.hpp>

#include "tests/support/files.h"
#include "tests/support/raised.h"

namespace headrace {
namespace {

namespace nn = gluon::nn;
using test::raised_by;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ParameterFile {
  std::string path = own_path("block.params");
  ~ParameterFile() { std::filesystem::remove(path); }
};

nn::Sequential two_layers(int64_t second) {
  nn::Sequential network;
  network.add(nn::Dense(2, {.in_units = 3}), nn::Dense(second, {.in_units = 2}));
  return network;
}

float sum_of(const gluon::Block& block, const char* name) {
  return static_cast<float>(nd::sum(block.collect_params().at(name)->data()).item());
}

TEST(BlockInitialize, DrawsInTheOrderInWhichLayersWereAdded) {
  constexpr int kLayers = 12;
  nn::Sequential network;
  for (int i = 0; i < kLayers; ++i) network.add(nn::Dense(4, {.in_units = 4}));
  random::seed(5);
  network.initialize(init::Xavier());
  random::seed(5);
  const gluon::ParameterDict parameters = network.collect_params();
  for (int i = 0; i < kLayers; ++i) {
    const NDArray drawn = init::Xavier()({4, 4}, cpu());
    EXPECT_TRUE(array_equal(parameters.at(std::to_string(i) + ".weight")->data(), drawn)) << i;
  }
}

TEST(BlockInitialize, ChangesAllParametersOrNone) {
  nn::Sequential network = two_layers(2);
  network.initialize(init::One{});
  EXPECT_EQ(raised_by([&] { network.reset_ctx({gpu(77)}); }).kind(), ErrorKind::kRuntime);
  EXPECT_EQ(sum_of(network, "0.weight"), 6);
  int made = 0;
  const auto fails_later = [&made](const Shape& shape, Device device) {
    if (++made == 2) throw Error(ErrorKind::kValue, "no second one");
    return init::Zero{}(shape, device);
  };
  EXPECT_STREQ(raised_by([&] { network.initialize(fails_later, {}, true); }).what(), "no second one");
  EXPECT_EQ(sum_of(network, "0.weight"), 6);
  EXPECT_EQ(sum_of(network, "1.weight"), 4);
}

TEST(BlocksMovedFrom, SayThatTheyWere) {
  const NDArray x = nd::ones({2, 3});
  const auto is_refused = [](const std::function<void()>& use) {
    const Error error = raised_by(use);
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    EXPECT_THAT(error.what(), HasSubstr("it was moved from"));
  };
  nn::Dense dense(2);
  const nn::Dense dense_now = std::move(dense);
  nn::Sequential both = two_layers(4);
  nn::Sequential both_now = std::move(both);
  gluon::rnn::LSTM lstm(2);
  const gluon::rnn::LSTM lstm_now = std::move(lstm);
  is_refused([&] { dense(x); });
  is_refused([&] { dense.forward(x); });
  is_refused([&] { both(x); });
  is_refused([&] { lstm.forward(nd::ones({1, 2, 3})); });
  is_refused([&] { lstm(nd::ones({1, 2, 3}), {}); });
  is_refused([&] { both.initialize(); });
  is_refused([&] { both.hybridize(); });
  is_refused([&] { both.save_parameters("none"); });
  both = std::move(both_now);
  both.initialize();
  EXPECT_EQ(both(x).shape(), (Shape{2, 4}));
}

TEST(BlockNames, AreGivenOnce) {
  struct TwoWeights : gluon::Block {
    TwoWeights() {
      add_parameter("w", {2});
      add_parameter("w", {3});
    }
    NDArray forward(const NDArray& x) override { return x; }
  };
  struct TwoChildren : gluon::Block {
    TwoChildren() {
      add_child("k", nn::Dense(2));
      add_child("k", nn::Dense(3));
    }
    NDArray forward(const NDArray& x) override { return x; }
  };
  EXPECT_THAT(raised_by([] { TwoWeights(); }).what(), HasSubstr("there is a parameter 'w' already"));
  EXPECT_THAT(raised_by([] { TwoChildren(); }).what(), HasSubstr("there is a child 'k' already"));
}

TEST(BlockFiles, AreLoadedWhollyOrNotAtAll) {
  ParameterFile file;
  nn::Sequential saved = two_layers(4), other = two_layers(5);
  saved.initialize(init::One{});
  saved.save_parameters(file.path);
  other.initialize(init::Zero{});
  const Error error = raised_by([&] { other.load_parameters(file.path); });
  EXPECT_EQ(error.kind(), ErrorKind::kValue);
  EXPECT_THAT(error.what(), HasSubstr("parameter '1.bias' needs shape (5,)"));
  EXPECT_EQ(sum_of(other, "0.weight"), 0);
  EXPECT_EQ(raised_by([&] { other.load_parameters("no such file"); }).kind(), ErrorKind::kOs);
}

TEST(BlockFiles, MayLackParametersOrHaveOthers) {
  ParameterFile file;
  nn::Sequential small, large = two_layers(4);
  small.add(nn::Dense(2, {.in_units = 3}));
  small.initialize(init::One{});
  small.save_parameters(file.path);
  large.initialize(init::Zero{});
  EXPECT_THAT(raised_by([&] { large.load_parameters(file.path); }).what(), HasSubstr("parameter '1.bias' is missing"));
  large.load_parameters(file.path, {.allow_missing = true});
  EXPECT_EQ(sum_of(large, "0.weight"), 6);
  EXPECT_EQ(sum_of(large, "1.weight"), 0);

  large.save_parameters(file.path);
  EXPECT_THAT(raised_by([&] { small.load_parameters(file.path); }).what(),
              HasSubstr("has '1.bias', which the network"));
  small.load_parameters(file.path, {.ignore_extra = true});
}

TEST(BlockFiles, OfAnotherDtypeAreCastWhereThatIsAsked) {
  ParameterFile file;
  nn::Dense layer(2, {.in_units = 3});
  layer.initialize(init::Zero{});
  nd::save(file.path, {{nd::zeros({2}, {.dtype = DType::kFloat64}), nd::ones({2, 3}, {.dtype = DType::kFloat64})},
                       {"arg:bias", "arg:weight"}});
  EXPECT_THAT(raised_by([&] { layer.load_parameters(file.path); }).what(), HasSubstr("set cast_dtype"));
  layer.load_parameters(file.path, {.cast_dtype = true});
  EXPECT_EQ(sum_of(layer, "weight"), 6);
  EXPECT_EQ(layer.collect_params().at("weight")->data().dtype(), DType::kFloat32);
}

TEST(BlockGradients, BeginAnew) {
  nn::Dense layer(1, {.use_bias = false, .in_units = 2});
  layer.initialize(init::One{});
  {
    autograd::RecordScope scope;
    autograd::backward(layer(nd::array({{1, 2}})));
  }
  const auto weight = layer.collect_params().at("weight");
  EXPECT_THAT(weight->grad().to_vector<float>(), ElementsAre(1, 2));
  layer.zero_grad();
  EXPECT_THAT(weight->grad().to_vector<float>(), ElementsAre(0, 0));
}

TEST(BlockTrainer, RefusesWhatIsNoParameter) {
  EXPECT_THAT(raised_by([] { gluon::Trainer({{"w", nullptr}}, "SGD"); }).what(), HasSubstr("parameter 'w' is null"));
  nn::Dense layer(1, {.in_units = 2});
  gluon::Trainer trainer(layer.collect_params(), "SGD"), taken = std::move(trainer);
  EXPECT_THAT(raised_by([&] { trainer.step(1); }).what(), HasSubstr("moved from"));
}

TEST(BlockData, RowsBeyondTheEndAreAnError) {
  const gluon::data::ArrayDataset set(nd::arange(4), nd::arange(4));
  const auto batch = set.take(nd::array({9}, DType::kInt64));
  EXPECT_EQ(raised_by([&] { batch.data.wait_to_read(); }).kind(), ErrorKind::kIndex);
  static_assert(std::input_iterator<gluon::data::DataLoader::Iterator>);
}

TEST(BlockOfSymbols, RunsThem) {
  const Symbol x = Symbol::variable("data");
  const Symbol y = Symbol::apply("FullyConnected", "fc", {x}, {{"num_hidden", "2"}, {"no_bias", "True"}});
  gluon::SymbolBlock net(y, {x});
  net.initialize(init::One{});
  EXPECT_THAT(net(nd::array({{1, 2, 3}})).to_vector<float>(), ElementsAre(6, 6));
  gluon::SymbolBlock given(y, {x}, {{"fc_weight", nd::zeros({2, 3})}});
  EXPECT_THAT(given(nd::array({{1, 2, 3}})).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_THAT(raised_by([&] { gluon::SymbolBlock(y, {y}); }).what(), HasSubstr("must be a variable"));
  EXPECT_THAT(raised_by([&] { net(std::vector<NDArray>{NDArray()}); }).what(), HasSubstr("input 'data' is none"));
}

}  // namespace
}  // namespace headrace
