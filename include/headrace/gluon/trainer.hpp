// Trainer: changes parameters by their gradients. Belongs to one thread at a time; updates run later, in the order of
// the operations that read or write the parameters.
#pragma once

#include <string_view>
#include <vector>

#include "headrace/gluon/parameter.hpp"

namespace headrace::gluon {

// Settings of an optimizer by name. "sgd": learning_rate (0.01), momentum (0), wd, clip_gradient. "adam": learning_rate
// (0.001), beta1 (0.9), beta2 (0.999), epsilon (1e-8), wd, clip_gradient. wd is 0, clip_gradient off by default.
using OptimizerParams = std::map<std::string, double>;

class Trainer {
 public:
  // ValueError: an unknown optimizer. TypeError: a setting that it does not have.
  Trainer(const ParameterDict& parameters, std::string_view optimizer, const OptimizerParams& settings = {});

  // Updates every parameter with its gradient divided by `batch_size`. RuntimeError: backward has not written a
  // gradient since the last step (`ignore_stale_grad` leaves such parameters alone). ValueError: batch_size < 1.
  void step(int64_t batch_size, bool ignore_stale_grad = false);

  double learning_rate() const { return settings_.at("learning_rate"); }
  void set_learning_rate(double rate) { settings_["learning_rate"] = rate; }

 private:
  struct Slot {
    std::shared_ptr<Parameter> parameter;
    std::vector<NDArray> states;  // made at the first step
    int64_t updates = 0;
  };

  // Learning rate of a parameter's next update.
  double rate_of(const Slot& slot) const;

  bool is_adam_;
  OptimizerParams settings_;
  std::vector<Slot> slots_;
};

}  // namespace headrace::gluon
