// Hybridized blocks compute what they compute operator by operator, and go to files and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <headrace/headrace.hpp>
#include <thread>

#include "tests/support/arrays.h"
#include "tests/support/files.h"

namespace headrace {
namespace {

namespace nn = gluon::nn;
using gluon::SymbolBlock;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// Paths of an exported network; the files are removed at the end.
struct Files {
  std::string path = own_path("export");
  std::string symbol = path + "-symbol.json", values = path + "-0000.params";
  ~Files() {
    std::filesystem::remove(symbol);
    std::filesystem::remove(values);
  }
};

nn::Sequential make_network() {
  nn::Sequential network;
  network.add(nn::Conv2D(4, 3, {.padding = 1}), nn::BatchNorm(), nn::Activation("relu"), nn::MaxPool2D(2), nn::Swish(),
              nn::Dense(5, {.activation = "tanh"}), nn::Dropout(0.5), nn::LayerNorm(), nn::Dense(3));
  return network;
}

NDArray images(int64_t n = 2) { return nd::random_uniform({.low = -1, .high = 1, .shape = {n, 3, 6, 6}}); }

// Text of the Error that `action` raises.
template <class F>
std::string text_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was raised";
}

TEST(Hybridize, ValuesGradientsAndStatisticsAreThoseOfTheOperators) {
  random::seed(7);
  nn::Sequential eager = make_network(), hybrid = make_network();
  Files files;
  NDArray x = images();
  eager.initialize(init::Xavier());
  eager(x);
  eager.save_parameters(files.values);
  hybrid.load_parameters(files.values);
  hybrid.hybridize();
  std::vector<std::vector<float>> results[2];
  nn::Sequential* networks[] = {&eager, &hybrid};
  for (size_t k = 0; k < 2; ++k) {
    NDArray y, loss;
    random::seed(1);
    {
      autograd::RecordScope scope;
      y = (*networks[k])(x);
      loss = y * y;
    }
    autograd::backward(loss);
    results[k] = {y.to_vector<float>(), (*networks[k])(x).to_vector<float>()};
    for (const auto& [name, parameter] : networks[k]->collect_params()) {
      results[k].push_back(parameter->data().to_vector<float>());
      if (parameter->grad_req() != "null") results[k].push_back(parameter->grad().to_vector<float>());
    }
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i)
    EXPECT_THAT(results[1][i], Pointwise(FloatNear(2e-4), results[0][i])) << i;
}

TEST(Hybridize, FirstDataCompleteTheShapes) {
  nn::Sequential network = make_network();
  network.initialize(init::Xavier());
  network.hybridize();
  NDArray x = images(), y = network(x);
  EXPECT_EQ(network.collect_params().at("5.weight")->shape(), (Shape{5, 36}));
  network.hybridize(false);
  EXPECT_THAT(y.to_vector<float>(), Pointwise(FloatNear(1e-5), network(x).to_vector<float>()));
  nn::Dense without_values(2);
  without_values.hybridize();
  EXPECT_EQ(kind_of([&] { without_values(x); }), ErrorKind::kRuntime);
  EXPECT_FALSE(autograd::is_recording());
  EXPECT_EQ((x + 1).to_vector<float>().size(), 216U);  // the thread does not trace any more
}

// Asks about the shape, and computes with a number made of it.
class Mean : public gluon::Block {
 public:
  NDArray forward(const NDArray& x) override {
    ++calls;
    return nd::sum(x) / static_cast<double>(x.size());
  }
  int calls = 0;
};

class Reader : public gluon::Block {
 public:
  NDArray forward(const NDArray& x) override { return x * nd::sum(x).item(); }
};

TEST(Hybridize, ForwardIsTracedOnceForEachShape) {
  Mean mean;
  mean.hybridize();
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(mean(array({1, 3})).item(), 2);
    EXPECT_EQ(mean(array({1, 3, 5})).item(), 3);
  }
  EXPECT_EQ(mean.calls, 2);
  Reader reader;
  reader.hybridize();
  EXPECT_EQ(kind_of([&] { reader(array({1, 2})); }), ErrorKind::kRuntime);
}

TEST(Hybridize, NewPartsAndNewValuesAreSeen) {
  nn::Sequential network;
  network.add(nn::Dense(1, {.use_bias = false}));
  network.initialize(init::One());
  network.hybridize();
  NDArray x = array({1, 2}, {1, 2});
  EXPECT_EQ(network(x).item(), 3);
  network.collect_params().at("0.weight")->set_data(array({2, 2}, {1, 2}));
  EXPECT_EQ(network(x).item(), 6);
  network.initialize(init::Zero());  // leaves values alone
  EXPECT_EQ(network(x).item(), 6);
  network.initialize(init::One(), {}, true);
  EXPECT_EQ(network(x).item(), 3);
  network.add(nn::LeakyReLU(0));
  EXPECT_EQ(network(-x).item(), 0);
}

TEST(Hybridize, TrainingLearns) {
  random::seed(3);
  nn::Sequential network;
  network.add(nn::Dense(8, {.activation = "tanh"}), nn::BatchNorm(), nn::Dense(1));
  network.initialize(init::Xavier());
  network.hybridize();
  gluon::Trainer trainer(network.collect_params(), "adam", {{"learning_rate", 0.02}});
  gluon::loss::L2Loss loss_of;
  NDArray x = nd::random_uniform({.low = -1, .high = 1, .shape = {64, 2}});
  NDArray label = nd::slice_axis(x, 1, 0, 1) * nd::slice_axis(x, 1, 1, 2);
  const double before = nd::mean(loss_of(network(x), label)).item();
  for (int step = 0; step < 100; ++step) {
    NDArray loss;
    {
      autograd::RecordScope scope;
      loss = loss_of(network(x), label);
    }
    autograd::backward(loss);
    trainer.step(64);
  }
  EXPECT_LT(nd::mean(loss_of(network(x), label)).item(), before / 5);
}

TEST(Export, AndImportGiveTheSameNetwork) {
  Files files;
  nn::Sequential network = make_network();
  network.initialize(init::Xavier());
  EXPECT_THAT(text_of([&] { network.export_to(files.path); }), HasSubstr("Please first call block.hybridize()"));
  network.hybridize();
  NDArray x = images(), y;
  {
    autograd::RecordScope scope;
    network(x);
  }
  y = network(x);
  network.export_to(files.path);
  SymbolBlock loaded = SymbolBlock::imports(files.symbol, {"data"}, files.values);
  loaded.hybridize();  // changes nothing
  EXPECT_EQ(loaded(x).to_vector<float>(), y.to_vector<float>());
  EXPECT_EQ(loaded(std::vector<NDArray>{x})[0].to_vector<float>(), y.to_vector<float>());
  EXPECT_EQ(loaded(images(5)).to_vector<float>().size(), 15U);
  auto parameters = loaded.collect_params();
  EXPECT_EQ(parameters.size(), network.collect_params().size());
  EXPECT_EQ(parameters.at("1.running_var")->grad_req(), "null");
  EXPECT_EQ(parameters.at("1.gamma")->grad_req(), "write");
  loaded.export_to(files.path);
  EXPECT_EQ(SymbolBlock::imports(files.symbol, {"data"}, files.values)(x).to_vector<float>(), y.to_vector<float>());
  EXPECT_EQ(kind_of([&] { loaded.export_to("/no/such/folder/net"); }), ErrorKind::kRuntime);
}

TEST(SymbolBlock, LearnsAsPartOfANetwork) {
  Files files;
  nn::Dense body(3);
  body.initialize(init::One());
  body.hybridize();
  NDArray x = array({1, 2}, {1, 2}), loss;
  body(x);
  body.export_to(files.path);
  nn::Sequential network;
  network.add(SymbolBlock::imports(files.symbol, {"data"}, files.values), nn::Dense(1));
  network.initialize(init::One());
  network.hybridize();
  {
    autograd::RecordScope scope;
    loss = network(x);
  }
  EXPECT_EQ(loss.item(), 9);
  autograd::backward(loss);
  EXPECT_THAT(network.collect_params().at("0.weight")->grad().to_vector<float>(),
              ::testing::ElementsAre(1, 2, 1, 2, 1, 2));
}

TEST(SymbolBlock, SaysWhatIsWrongWithFiles) {
  Files files;
  nn::Dense dense(2);
  dense.initialize();
  dense.hybridize();
  dense(array({1, 2}, {1, 2}));
  dense.export_to(files.path);
  const auto error = [&](const std::vector<std::string>& names) {
    return text_of([&] { (void)SymbolBlock::imports(files.symbol, names, files.values); });
  };
  EXPECT_THAT(text_of([&] { (void)SymbolBlock::imports("/no/such", {"data"}, files.values); }),
              HasSubstr("Open \"/no/such\": No such file"));
  EXPECT_THAT(text_of([&] { (void)SymbolBlock::imports(files.symbol, {"data"}, "/no/such"); }), HasSubstr("/no/such"));
  EXPECT_THAT(error({"image"}), HasSubstr("Parameter 'data' is missing in file: " + files.values));
  EXPECT_THAT(error({"data", "image"}), HasSubstr("The image is not used by the computation"));
  EXPECT_THAT(error({"data", "bias"}), HasSubstr("Parameter 'bias' loaded from file: "));
  EXPECT_EQ(kind_of([&] { SymbolBlock::imports(files.symbol, {"data"}, files.values)(std::vector<NDArray>()); }),
            ErrorKind::kValue);
  dense.save_parameters(files.values);  // names without "arg:" are as good
  EXPECT_EQ(error({"data"}), "nothing was raised");
  std::ofstream(files.symbol) << "{";
  EXPECT_EQ(kind_of([&] { (void)SymbolBlock::imports(files.symbol, {"data"}, files.values); }), ErrorKind::kRuntime);
}

TEST(SymbolBlock, ValuesMayBeMissingOrTooMany) {
  Files files;
  nn::Dense dense(2);
  dense.initialize(init::One());
  dense.hybridize();
  const NDArray x = array({1, 2}, {1, 2});
  dense(x);
  dense.export_to(files.path);
  nn::Sequential other;  // has "0.weight" and "0.bias", which the graph does not
  other.add(nn::Dense(1, {.in_units = 2}));
  other.initialize();
  other.save_parameters(files.values);
  const auto imported = [&](bool allow_missing, bool ignore_extra) {
    return SymbolBlock::imports(files.symbol, {"data"}, files.values, allow_missing, ignore_extra);
  };
  EXPECT_THAT(text_of([&] { imported(false, true); }), HasSubstr("Set allow_missing"));
  EXPECT_THAT(text_of([&] { imported(true, false); }), HasSubstr("set ignore_extra"));
  SymbolBlock block = imported(true, true);
  EXPECT_EQ(kind_of([&] { block(x); }), ErrorKind::kRuntime);  // no values
  block.initialize(init::One());
  EXPECT_THAT(block(x).to_vector<float>(), ::testing::ElementsAre(4, 4));
  EXPECT_EQ(block.collect_params().at("weight")->shape(), (Shape{2, 2}));
}

TEST(SymbolBlock, SeveralInputsComeInTheOrderOfTheirNames) {
  Files files;
  const Symbol a = Symbol::variable("a"), b = Symbol::variable("b");
  const Symbol difference = Symbol::apply("elemwise_sub", "", {a, b});
  std::ofstream(files.symbol) << Symbol::group({difference, Symbol::apply("elemwise_add", "", {a, b})}).to_json();
  nn::Flatten().save_parameters(files.values);  // no parameters
  SymbolBlock block = SymbolBlock::imports(files.symbol, {"b", "a"}, files.values);
  std::vector<NDArray> results = block({array({1}), array({5})});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].item(), 4);
  EXPECT_EQ(results[1].item(), 6);
  EXPECT_EQ(kind_of([&] { block(array({1})); }), ErrorKind::kValue);
}

TEST(SymbolBlock, ThreadsMayPredictAtOnce) {
  Files files;
  nn::Sequential network = make_network();
  network.initialize(init::Xavier());
  network.hybridize();
  NDArray x = images(3);
  network(x);
  network.export_to(files.path);
  SymbolBlock loaded = SymbolBlock::imports(files.symbol, {"data"}, files.values);
  std::vector<std::vector<float>> expected, found[4];
  for (int64_t n = 1; n <= 3; ++n) expected.push_back(network(nd::slice_axis(x, 0, 0, n)).to_vector<float>());
  {
    std::vector<std::thread> threads;
    for (auto& results : found)
      threads.emplace_back([&loaded, &results, x] {
        for (int64_t k = 0; k < 30; ++k)  // new types come up in all threads at once
          results.push_back(loaded(nd::slice_axis(x, 0, 0, 1 + k % 3)).to_vector<float>());
      });
    for (std::thread& thread : threads) thread.join();
  }
  for (const auto& results : found)
    for (size_t k = 0; k < results.size(); ++k) EXPECT_THAT(results[k], Pointwise(FloatNear(1e-5), expected[k % 3]));
}

struct AsksForMode : gluon::Block {
  int traces = 0;
  NDArray forward(const NDArray& x) override {
    ++traces;
    return autograd::is_training() ? x * 10 : x * 1;
  }
};

TEST(Hybridize, BothModesAreTracedOnce) {
  AsksForMode block;
  block.hybridize();
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(block(nd::ones({1})).item(), 1);
    autograd::RecordScope scope;
    EXPECT_EQ(block(nd::ones({1})).item(), 10);
  }
  EXPECT_EQ(block.traces, 2);
}

struct Detaches : gluon::Block {
  NDArray forward(const NDArray& x) override { return x.detach() * x; }
};

TEST(Hybridize, DetachedArraysPassNoGradientOn) {
  for (const bool active : {false, true}) {
    Detaches block;
    block.hybridize(active);
    NDArray x = nd::array({1, 2}), y;
    autograd::attach_grad(x);
    {
      autograd::RecordScope scope;
      y = block(x);
    }
    autograd::backward(y);
    EXPECT_THAT(autograd::grad_of(x).to_vector<float>(), ::testing::ElementsAre(1, 2)) << active;
  }
}

}  // namespace
}  // namespace headrace
