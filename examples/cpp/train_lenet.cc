// LeNet with batch normalisation learns handwritten digits, in C++.
// Usage: train_lenet [--epochs 20] [--samples 1500] [--digits FOLDER]
//
// FOLDER has the four idx files of the digits; by default those that come with the Python package.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <headrace/headrace.hpp>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

#include "arguments.h"

using namespace headrace;
namespace nn = headrace::gluon::nn;

namespace {

constexpr int64_t kBatchSize = 50, kSize = 28, kAll = std::numeric_limits<int64_t>::max();

struct Settings {
  int epochs = 20;
  int64_t samples = kAll;
  std::string digits = HEADRACE_DIGITS;
};

Settings settings_from(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + " needs a value");
    if (name == "--epochs")
      settings.epochs = static_cast<int>(count_from(name, argv[i + 1]));
    else if (name == "--samples")
      settings.samples = count_from(name, argv[i + 1]);
    else if (name == "--digits")
      settings.digits = argv[i + 1];
    else
      throw std::invalid_argument(name + " is unknown; there are --epochs, --samples and --digits");
  }
  return settings;
}

// Digits as images (n, 1, 28, 28) with values 0 to 1; the first `most` of them.
gluon::data::ArrayDataset load_digits(const std::string& folder, bool train, int64_t most) {
  const gluon::data::vision::Digits digits(folder, train);
  NDArray images = nd::transpose(nd::cast(digits.all().data, DType::kFloat32) / 255, {.axes = {0, 3, 1, 2}});
  images = nd::contrib::BilinearResize2D(images, {}, {.height = kSize, .width = kSize, .align_corners = false});
  const int64_t count = std::min(most, digits.size());
  return {nd::slice_axis(images, 0, 0, count), nd::slice_axis(digits.all().label, 0, 0, count)};
}

// One random number for each of `n` images, of shape (n, 1, 1, 1).
NDArray amounts(int64_t n, double most) {
  return nd::random_uniform({.low = -most, .high = most, .shape = {n, 1, 1, 1}});
}

// Every row of the images (n, 1, 28, 28) is moved, zoomed and slanted along itself, at random for each image.
NDArray distorted_rows(const NDArray& images) {
  constexpr double kCenter = (kSize - 1) / 2.0;
  const int64_t n = images.shape()[0];
  const NDArray numbers = nd::arange(0, {.stop = static_cast<double>(kSize)});
  const NDArray from = nd::reshape(numbers, {.shape = {1, 1, 1, kSize}});
  const NDArray row = nd::reshape(numbers - kCenter, {.shape = {1, kSize, 1, 1}});
  const NDArray column = nd::reshape(numbers - kCenter, {.shape = {1, 1, kSize, 1}});
  const NDArray place = (1 + amounts(n, 0.12)) * column + amounts(n, 0.25) * row + amounts(n, 2.5) + kCenter;
  const NDArray share = nd::relu(1 - nd::abs(nd::clip(place, 0, kSize - 1) - from));  // between neighbours
  const NDArray rows = nd::reshape(images, {.shape = {n, kSize, 1, kSize}});
  return nd::reshape(nd::sum(share * rows, {.axis = Shape{3}}), {.shape = {n, 1, kSize, kSize}});
}

// New images from known ones: other writers slant their digits otherwise, and use other pens.
NDArray distorted(const NDArray& images) {
  const NDArray along_columns = nd::swapaxes(distorted_rows(images), {.dim1 = 2, .dim2 = 3});
  return nd::swapaxes(distorted_rows(along_columns), {.dim1 = 2, .dim2 = 3}) * (1 + amounts(images.shape()[0], 0.3));
}

nn::Sequential make_network() {
  nn::Sequential network;
  for (int64_t channels : {32, 64})
    network.add(nn::Conv2D(channels, 5, {.use_bias = false}), nn::BatchNorm(), nn::Activation("relu"),
                nn::MaxPool2D(2));
  network.add(nn::Dense(256, {.use_bias = false}), nn::BatchNorm(), nn::Activation("relu"), nn::Dropout(0.5),
              nn::Dense(10));
  network.initialize(init::Xavier());
  network.hybridize();
  return network;
}

// Mean loss of one pass over the training data.
double train_epoch(nn::Sequential& network, const gluon::data::DataLoader& batches, gluon::Trainer& trainer) {
  gluon::loss::SoftmaxCrossEntropyLoss loss_of;
  NDArray total = nd::zeros({1});
  int64_t seen = 0;
  for (auto [images, labels] : batches) {
    NDArray x = distorted(images), loss;
    {
      autograd::RecordScope scope;
      loss = loss_of(network(x), labels);
    }
    autograd::backward(loss);
    trainer.step(x.shape()[0]);
    total += nd::sum(loss.detach());  // queued like all the rest: nothing waits here
    seen += x.shape()[0];
  }
  return total.item() / static_cast<double>(seen);  // waits for the whole epoch
}

double test_accuracy(nn::Sequential& network, const gluon::data::DataLoader& batches) {
  metric::Accuracy accuracy;
  for (auto [images, labels] : batches) accuracy.update(labels, network(images));
  return accuracy.get().second;
}

void train(const Settings& settings) {
  random::seed(1);
  const gluon::data::ArrayDataset digits = load_digits(settings.digits, true, settings.samples);
  const gluon::data::DataLoader train_batches(digits, kBatchSize, {.shuffle = true});
  const gluon::data::DataLoader test_batches(load_digits(settings.digits, false, kAll), kBatchSize);
  nn::Sequential network = make_network();
  gluon::Trainer trainer(network.collect_params(), "adam");
  for (int epoch = 1; epoch <= settings.epochs; ++epoch) {
    trainer.set_learning_rate(0.001 + 0.001 * std::cos(std::numbers::pi * (epoch - 1) / settings.epochs));
    const auto start = std::chrono::steady_clock::now();
    const double loss = train_epoch(network, train_batches, trainer);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("epoch %2d/%d: loss %.3f, %.0f samples/s\n", epoch, settings.epochs, loss,
                static_cast<double>(digits.size()) / seconds.count());
  }
  std::printf("test accuracy: %.3f\n", test_accuracy(network, test_batches));
}

}  // namespace

int main(int argc, char** argv) try {
  train(settings_from(argc, argv));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "train_lenet: %s\n", error.what());
  return 1;
}
