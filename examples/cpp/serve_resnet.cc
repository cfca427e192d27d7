// A residual network answers requests of several threads at once, in C++.
// Usage: serve_resnet [--threads 4] [--requests 100] [--batch 1] [--size 32] [SYMBOL-FILE PARAMS-FILE]
//
// The files are what `export` wrote in Python or C++, of a network whose input is "data", images (n, 3, size, size).
// Without them the program builds a small ResNet and exports it into a temporary folder first.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <headrace/headrace.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "arguments.h"

using namespace headrace;
namespace nn = headrace::gluon::nn;
using Clock = std::chrono::steady_clock;

namespace {

struct Settings {
  int64_t threads = 4, requests = 100, batch = 1, size = 32;
  std::vector<std::string> files;
};

Settings settings_from(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (!name.starts_with("--")) {
      settings.files.push_back(name);
      continue;
    }
    int64_t* number = name == "--threads"    ? &settings.threads
                      : name == "--requests" ? &settings.requests
                      : name == "--batch"    ? &settings.batch
                      : name == "--size"     ? &settings.size
                                             : nullptr;
    if (!number) throw std::invalid_argument(name + " is unknown; there are --threads, --requests, --batch and --size");
    if (++i == argc) throw std::invalid_argument(name + " needs a value");
    *number = count_from(name, argv[i]);
  }
  if (!settings.files.empty() && settings.files.size() != 2)
    throw std::invalid_argument("give the symbol file and the parameter file, or neither");
  return settings;
}

// Two convolutions beside a shortcut, which is a convolution itself where the shape changes.
class Residual : public gluon::Block {
 public:
  Residual(int64_t channels, int64_t stride) {
    nn::Sequential body, shortcut;
    body.add(nn::Conv2D(channels, 3, {.strides = stride, .padding = 1, .use_bias = false}), nn::BatchNorm(),
             nn::Activation("relu"), nn::Conv2D(channels, 3, {.padding = 1, .use_bias = false}), nn::BatchNorm());
    if (stride != 1) shortcut.add(nn::Conv2D(channels, 1, {.strides = stride, .use_bias = false}), nn::BatchNorm());
    body_ = &add_child("body", std::move(body));
    shortcut_ = &add_child("shortcut", std::move(shortcut));
  }
  NDArray forward(const NDArray& x) override { return nd::relu((*body_)(x) + (*shortcut_)(x)); }

 private:
  gluon::Block *body_, *shortcut_;
};

// Writes PATH-symbol.json and PATH-0000.params.
void export_resnet(const std::string& path, int64_t size) {
  nn::Sequential network;
  network.add(nn::Conv2D(16, 3, {.padding = 1, .use_bias = false}), nn::BatchNorm(), nn::Activation("relu"));
  for (int64_t channels : {16, 32, 64}) network.add(Residual(channels, channels == 16 ? 1 : 2), Residual(channels, 1));
  network.add(nn::GlobalAvgPool2D(), nn::Dense(10));
  random::seed(1);
  network.initialize(init::Xavier());
  network.hybridize();
  network(nd::random_uniform({.shape = {1, 3, size, size}}));
  network.export_to(path);
}

gluon::SymbolBlock load(const Settings& settings) {
  if (!settings.files.empty()) return gluon::SymbolBlock::imports(settings.files[0], {"data"}, settings.files[1]);
  const auto folder = std::filesystem::temp_directory_path() / ("serve_resnet_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "resnet").string();
  export_resnet(path, settings.size);
  gluon::SymbolBlock network = gluon::SymbolBlock::imports(path + "-symbol.json", {"data"}, path + "-0000.params");
  std::filesystem::remove_all(folder);
  return network;
}

// What one thread saw.
struct Client {
  std::vector<double> milliseconds;
  size_t wrong = 0;  // answers that are not the expected ones
  std::string error;
};

void ask(gluon::SymbolBlock& network, const std::vector<NDArray>& images,
         const std::vector<std::vector<float>>& expected, int64_t requests, Client& client) try {
  for (int64_t k = 0; k < requests; ++k) {
    const size_t which = static_cast<size_t>(k) % images.size();
    const auto start = Clock::now();
    const std::vector<float> answer = network(images[which]).to_vector<float>();  // waits for this request only
    client.milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    client.wrong += answer != expected[which];
  }
} catch (const std::exception& error) {
  client.error = error.what();
}

void serve(const Settings& settings) {
  gluon::SymbolBlock network = load(settings);
  std::vector<NDArray> images;
  std::vector<std::vector<float>> expected;
  for (int k = 0; k < 8; ++k) {
    images.push_back(nd::random_uniform({.shape = {settings.batch, 3, settings.size, settings.size}}));
    expected.push_back(network(images.back()).to_vector<float>());
  }
  std::vector<Client> clients(static_cast<size_t>(settings.threads));
  const auto start = Clock::now();
  {
    std::vector<std::thread> threads;
    for (Client& client : clients)
      // Handles of its own to the images: a handle belongs to one thread at a time.
      threads.emplace_back([&, own = images] { ask(network, own, expected, settings.requests, client); });
    for (std::thread& thread : threads) thread.join();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::vector<double> all;
  size_t wrong = 0;
  for (const Client& client : clients) {
    if (!client.error.empty()) throw std::runtime_error(client.error);
    all.insert(all.end(), client.milliseconds.begin(), client.milliseconds.end());
    wrong += client.wrong;
  }
  std::sort(all.begin(), all.end());
  const auto percentile = [&](double share) {
    return all[static_cast<size_t>(share * static_cast<double>(all.size() - 1))];
  };
  std::printf("%lld threads, %zu requests of %lld images\n", static_cast<long long>(settings.threads), all.size(),
              static_cast<long long>(settings.batch));
  std::printf("%.0f images/s\n", static_cast<double>(all.size()) * static_cast<double>(settings.batch) / seconds);
  std::printf("latency in ms: median %.2f, 90%% %.2f, 99%% %.2f, most %.2f\n", percentile(0.5), percentile(0.9),
              percentile(0.99), all.back());
  if (wrong > 0) throw std::runtime_error(std::to_string(wrong) + " answers differ from those of a single thread");
  std::printf("all threads got equal answers\n");
}

}  // namespace

int main(int argc, char** argv) try {
  serve(settings_from(argc, argv));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "serve_resnet: %s\n", error.what());
  return 1;
}
