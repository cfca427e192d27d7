// A multilayer perceptron learns handwritten digits, in C++. Usage: train_mlp [FOLDER]
//
// FOLDER has the four idx files of the digits; by default those that come with the Python package.
#include <cmath>
#include <cstdio>
#include <exception>
#include <headrace/headrace.hpp>
#include <numbers>
#include <string>

using namespace headrace;
namespace nn = headrace::gluon::nn;

namespace {

constexpr int64_t kBatchSize = 50;
constexpr int kEpochs = 30;

// Grey levels from 0 to 255 as numbers from 0 to 1.
NDArray to_unit_range(const NDArray& images) { return nd::cast(images, DType::kFloat32) / 255; }

// Moves each image along an axis at random, by up to half a pixel.
NDArray shifted(const NDArray& images, int64_t axis) {
  NDArray border = nd::zeros_like(nd::slice_axis(images, axis, 0, 1));
  NDArray left = nd::concat({nd::slice_axis(images, axis, 1, std::nullopt), border}, {.dim = axis});
  NDArray right = nd::concat({border, nd::slice_axis(images, axis, 0, -1)}, {.dim = axis});
  NDArray step = nd::random_uniform({.low = -0.5, .high = 0.5, .shape = {images.shape()[0], 1, 1, 1}});
  return (1 - nd::abs(step)) * images + nd::relu(-step) * left + nd::relu(step) * right;
}

// New images from known ones: other writers place their digits elsewhere, and use other pens.
NDArray augmented(const NDArray& images) {
  NDArray moved = shifted(shifted(images, 1), 2);
  return moved + nd::random_normal({.scale = 0.1, .shape = moved.shape()});
}

nn::Sequential make_network() {
  nn::Sequential network;
  network.add(nn::Flatten(), nn::LayerNorm());
  for (int64_t width : {256, 128}) network.add(nn::Dense(width), nn::LayerNorm(), nn::Activation("relu"));
  network.add(nn::Dense(10));
  network.initialize(init::Xavier());
  return network;
}

// Mean loss of one pass over the training data.
double train_epoch(nn::Sequential& network, const gluon::data::DataLoader& batches, gluon::Trainer& trainer) {
  gluon::loss::SoftmaxCrossEntropyLoss loss_of;
  NDArray total = nd::zeros({1});
  int64_t seen = 0;
  for (auto [images, labels] : batches) {
    NDArray x = augmented(to_unit_range(images)), loss;
    {
      autograd::RecordScope scope;
      loss = loss_of(network(x), labels);
    }
    autograd::backward(loss);
    trainer.step(kBatchSize);
    total += nd::sum(loss.detach());  // queued like all the rest: nothing waits here
    seen += images.shape()[0];
  }
  return total.item() / static_cast<double>(seen);  // waits for the whole epoch
}

double test_accuracy(nn::Sequential& network, const gluon::data::DataLoader& batches) {
  metric::Accuracy accuracy;
  for (auto [images, labels] : batches) accuracy.update(labels, network(to_unit_range(images)));
  return accuracy.get().second;
}

void train(const std::string& folder) {
  random::seed(1);
  gluon::data::DataLoader train_batches(gluon::data::vision::Digits(folder, true), kBatchSize, {.shuffle = true});
  gluon::data::DataLoader test_batches(gluon::data::vision::Digits(folder, false), kBatchSize);
  nn::Sequential network = make_network();
  gluon::Trainer trainer(network.collect_params(), "adam");
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    trainer.set_learning_rate(0.001 + 0.001 * std::cos(std::numbers::pi * (epoch - 1) / kEpochs));
    double loss = train_epoch(network, train_batches, trainer);
    std::printf("epoch %2d/%d: loss %.3f\n", epoch, kEpochs, loss);
  }
  std::printf("test accuracy: %.2f\n", test_accuracy(network, test_batches));
}

}  // namespace

int main(int argc, char** argv) try {
  train(argc > 1 ? argv[1] : HEADRACE_DIGITS);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "train_mlp: %s\n", error.what());
  return 1;
}
