// Recurrent layers: what their steps compute, states that go on, other layouts, compiled networks, gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <headrace/headrace.hpp>

#include "tests/support/arrays.h"
#include "tests/support/files.h"

namespace headrace {
namespace {

namespace rnn = gluon::rnn;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

void expect_close(const NDArray& found, const NDArray& expected) {
  EXPECT_EQ(found.shape(), expected.shape());
  EXPECT_THAT(found.to_vector<float>(), Pointwise(FloatNear(1e-5F), expected.to_vector<float>()));
}

NDArray part(const NDArray& x, int64_t axis, int64_t begin, int64_t end) { return nd::slice_axis(x, axis, begin, end); }

TEST(RecurrentLayers, ComputeTheirFormulas) {
  rnn::RNN layer(1, {.weight_initializer = init::Constant{0.5}, .bias_initializer = init::Constant{0.25}}, "tanh");
  layer.initialize();
  const NDArray x = array({1, 2}, {2, 1, 1});
  const float first = std::tanh(0.5F + 0.5F), second = std::tanh(0.5F * 2 + 0.5F * first + 0.5F);
  expect_close(layer(x), array({first, second}, {2, 1, 1}));
  const auto [outputs, states] = layer(part(x, 0, 1, 2), {array({first}, {1, 1, 1})});
  expect_close(outputs, array({second}, {1, 1, 1}));
  expect_close(states[0], array({second}, {1, 1, 1}));
}

template <class Layer>
void expect_to_go_on() {
  random::seed(3);
  Layer layer(4, {.num_layers = 2});
  layer.initialize(init::Normal{0.5});
  const NDArray x = varied({6, 3, 5}, DType::kFloat32, 7);
  const NDArray whole = layer(x);
  EXPECT_EQ(whole.shape(), (Shape{6, 3, 4}));
  rnn::States states = layer.begin_state(3);
  for (const int64_t begin : {0, 2, 4}) {
    NDArray outputs;
    std::tie(outputs, states) = layer(part(x, 0, begin, begin + 2), states);
    expect_close(outputs, part(whole, 0, begin, begin + 2));
  }
  EXPECT_EQ(states.size(), (std::is_same_v<Layer, rnn::LSTM> ? 2U : 1U));
}

TEST(RecurrentLayers, GoOnFromTheirStates) {
  expect_to_go_on<rnn::RNN>();
  expect_to_go_on<rnn::LSTM>();
  expect_to_go_on<rnn::GRU>();
}

TEST(RecurrentLayers, HaveOtherLayoutsAndDirections) {
  random::seed(5);
  rnn::GRU layer(4, {.layout = "NTC", .bidirectional = true, .input_size = 5}),
      other(4, {.bidirectional = true, .input_size = 5});
  layer.initialize(init::Normal{0.5});
  other.initialize();
  for (const auto& [name, parameter] : layer.collect_params())
    other.collect_params().at(name)->set_data(parameter->data());
  EXPECT_TRUE(layer.collect_params().contains("_unfused.0.r_cell.h2h_weight"));
  const NDArray x = varied({3, 6, 5}, DType::kFloat32, 9);
  const NDArray y = layer(x);
  EXPECT_EQ(y.shape(), (Shape{3, 6, 8}));
  expect_close(nd::swapaxes(other(nd::swapaxes(x, {.dim1 = 0, .dim2 = 1})), {.dim1 = 0, .dim2 = 1}), y);
  rnn::LSTM projected(6, {.num_layers = 2, .projection_size = 2});
  projected.initialize();
  const auto [outputs, states] = projected(x, projected.begin_state(6));
  EXPECT_EQ(outputs.shape(), (Shape{3, 6, 2}));
  EXPECT_EQ(states[0].shape(), (Shape{2, 6, 2}));
  EXPECT_EQ(states[1].shape(), (Shape{2, 6, 6}));
}

// A network of one's own with a recurrent part.
class SequenceClassifier : public gluon::Block {
 public:
  NDArray forward(const NDArray& x) override { return head_(lstm_(x)); }

 private:
  gluon::Block& lstm_ = add_child("lstm", rnn::LSTM(8, {.num_layers = 2, .layout = "NTC"}));
  gluon::Block& head_ = add_child("head", gluon::nn::Dense(2));
};

TEST(RecurrentLayers, CompileAndGoToFiles) {
  SequenceClassifier network;
  network.initialize(init::Normal{0.5});
  const NDArray x = varied({3, 6, 5}, DType::kFloat32, 11);
  const NDArray expected = network(x);
  network.hybridize();
  expect_close(network(x), expected);
  expect_close(network(part(x, 0, 0, 2)), part(expected, 0, 0, 2));
  const std::string path = own_path("reader");
  network.export_to(path);
  gluon::SymbolBlock loaded = gluon::SymbolBlock::imports(path + "-symbol.json", {"data"}, path + "-0000.params");
  expect_close(loaded(x), expected);  // whatever the size of the batch that was traced
  std::filesystem::remove(path + "-symbol.json");
  std::filesystem::remove(path + "-0000.params");
}

TEST(RecurrentLayers, Learn) {
  random::seed(2);
  SequenceClassifier network;
  network.initialize(init::Xavier());
  network.hybridize();
  gluon::Trainer trainer(network.collect_params(), "adam", {{"learning_rate", 0.02}});
  const gluon::loss::SoftmaxCrossEntropyLoss loss_of;
  const NDArray x = varied({16, 6, 5}, DType::kFloat32, 13);
  const NDArray label = nd::argmax(nd::slice_axis(nd::sum(x, {.axis = {1}}), 1, 0, 2), {.axis = 1});
  double first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    NDArray loss;
    {
      autograd::RecordScope scope;
      loss = loss_of(network(x), label);
    }
    autograd::backward(loss);
    trainer.step(16);
    last = nd::mean(loss).item();
    if (step == 0) first = last;
  }
  EXPECT_LT(last, first / 4);
}

TEST(RecurrentLayers, SayWhatDoesNotFit) {
  EXPECT_EQ(kind_of([] { rnn::LSTM(0); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { rnn::GRU(4, {.layout = "CTN"}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { rnn::GRU(4, {.projection_size = 2}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { rnn::RNN(4, {}, "gelu"); }), ErrorKind::kValue);
  rnn::LSTM layer(4);
  layer.initialize();
  EXPECT_EQ(kind_of([&] { layer(array({1, 2}, {1, 2})); }), ErrorKind::kValue);
  const NDArray x = varied({2, 3, 5}, DType::kFloat32, 1);
  EXPECT_EQ(kind_of([&] { layer(x, layer.begin_state(2)); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { layer(x, {layer.begin_state(3)[0]}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { layer(x, {NDArray{}, NDArray{}}); }), ErrorKind::kType);
}

}  // namespace
}  // namespace headrace
