// Files of a trainer's states: src/gluon/state_file.h and Trainer::load_states. A trainer goes on after it, whether the
// file was taken or not.
#include "headrace/autograd.hpp"
#include "headrace/gluon/nn.hpp"
#include "headrace/gluon/trainer.hpp"
#include "op/invoke.h"
#include "tests/attack/fuzz/fuzz.h"

namespace headrace::fuzz {
namespace {

constexpr std::string_view kOptimizers[] = {"sgd", "adam"};

// A small layer with a trainer that has made one step.
struct Training {
  explicit Training(std::string_view optimizer)
      : layer(2, {.in_units = 3}),
        trainer((layer.initialize(), layer.collect_params()), optimizer, settings(optimizer)) {
    step();
  }
  static gluon::OptimizerParams settings(std::string_view optimizer) {
    return optimizer == "sgd" ? gluon::OptimizerParams{{"momentum", 0.9}} : gluon::OptimizerParams{};
  }
  void step() {
    NDArray y;
    {
      autograd::RecordScope scope;
      y = layer(full({2, 3}, 0.5, DType::kFloat32, {}));
    }
    autograd::backward(y);
    trainer.step(1);
    for (const auto& [name, parameter] : layer.collect_params()) parameter->data().wait_to_read();
  }

  gluon::nn::Dense layer;
  gluon::Trainer trainer;
};

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> result;
  for (std::string_view optimizer : kOptimizers)
    result.push_back(written([&](const std::string& path) { Training(optimizer).trainer.save_states(path); }));
  return result;
}

}  // namespace headrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace::fuzz;
  const File file(text_of(data, size));
  for (std::string_view optimizer : kOptimizers) {
    Training training(optimizer);
    accepts([&] { training.trainer.load_states(file.path()); });
    accepts([&] { training.step(); });
  }
  return 0;
}
