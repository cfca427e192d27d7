// A network learns handwritten digits in several processes, each of which has its share of the images.
// Usage: train_workers [--epochs 20] [--kvstore dist_sync] [--digits FOLDER], as two workers and a server:
//
//   python -m headrace.launch -n 2 -s 1 build/release/examples/train_workers
//
// or without servers: python -m headrace.launch -n 2 --mpi build/release/examples/train_workers. FOLDER has the four
// idx files of the digits; by default those that come with the Python package.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <headrace/distributed.hpp>
#include <headrace/headrace.hpp>
#include <stdexcept>
#include <string>

#include "arguments.h"

using namespace headrace;
namespace nn = headrace::gluon::nn;

namespace {

constexpr int64_t kBatchSize = 50;  // of all workers together

struct Settings {
  int epochs = 20;
  std::string kvstore = "dist_sync";
  std::string digits = HEADRACE_DIGITS;
};

Settings settings_from(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + " needs a value");
    if (name == "--epochs")
      settings.epochs = static_cast<int>(count_from(name, argv[i + 1]));
    else if (name == "--kvstore")
      settings.kvstore = argv[i + 1];
    else if (name == "--digits")
      settings.digits = argv[i + 1];
    else
      throw std::invalid_argument(name + " is unknown; there are --epochs, --kvstore and --digits");
  }
  return settings;
}

// Part `index` of `parts`, each with as many images: in rows, with values from 0 to 1.
gluon::data::ArrayDataset part_of_digits(const std::string& folder, bool train, int64_t parts = 1, int64_t index = 0) {
  const gluon::data::vision::Digits digits(folder, train);
  const int64_t count = digits.size() / parts;
  const NDArray images = nd::slice_axis(digits.all().data, 0, index * count, (index + 1) * count);
  return {nd::flatten(nd::cast(images, DType::kFloat32) / 255),
          nd::slice_axis(digits.all().label, 0, index * count, (index + 1) * count)};
}

// Mean loss of one pass over the training data, of all workers.
double train_epoch(nn::Sequential& network, const gluon::data::DataLoader& batches, gluon::Trainer& trainer) {
  const gluon::loss::SoftmaxCrossEntropyLoss loss_of;
  NDArray total = nd::zeros({1});
  for (auto [images, labels] : batches) {
    NDArray loss;
    {
      autograd::RecordScope scope;
      loss = loss_of(network(images), labels);
    }
    autograd::backward(loss);
    trainer.step(images.shape()[0] * distributed::size());
    total += nd::mean(loss.detach());  // queued like all the rest: nothing waits here
  }
  return distributed::all_reduce(total, "mean").item() / static_cast<double>(batches.size());  // waits for the epoch
}

double test_accuracy(nn::Sequential& network, const gluon::data::DataLoader& batches) {
  metric::Accuracy accuracy;
  for (auto [images, labels] : batches) accuracy.update(labels, network(images));
  return accuracy.get().second;
}

void train(const Settings& settings) {
  const int workers = distributed::size(), rank = distributed::rank();
  random::seed(1);
  const gluon::data::DataLoader mine(part_of_digits(settings.digits, true, workers, rank),
                                     std::max<int64_t>(1, kBatchSize / workers), {.shuffle = true});
  nn::Sequential network;
  network.add(nn::Dense(128, {.activation = "relu"}), nn::Dense(10));
  network.initialize(init::Xavier());
  gluon::Trainer trainer(network.collect_params(), "adam", {{"learning_rate", 0.003}}, {.kvstore = settings.kvstore});
  for (int epoch = 1; epoch <= settings.epochs; ++epoch) {
    const double loss = train_epoch(network, mine, trainer);
    if (rank == 0) std::printf("epoch %2d/%d: loss %.4f\n", epoch, settings.epochs, loss);
  }
  const gluon::data::DataLoader tests(part_of_digits(settings.digits, false), kBatchSize);
  if (rank == 0) std::printf("test accuracy: %.4f\n", test_accuracy(network, tests));
}

}  // namespace

int main(int argc, char** argv) try {
  train(settings_from(argc, argv));
  return 0;
} catch (const std::exception& error) {
  distributed::abandon(error.what());
  std::fprintf(stderr, "train_workers: %s\n", error.what());
  return 1;
}
