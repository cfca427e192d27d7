// Trainer: changes parameters by their gradients. Belongs to one thread at a time; updates run later, in the order of
// the operations that read or write the parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headrace/gluon/parameter.hpp"

namespace headrace {

struct OpDef;

namespace gluon {

struct UpdateRule;

// Settings of an optimizer by name, truths as 0 and 1. Every optimizer has learning_rate, wd (0) and clip_gradient (-1;
// negative: none). Names and defaults are MXNet's:
//   sgd, nag  learning_rate 0.01, momentum 0
//   signum    learning_rate 0.01, momentum 0.9, wd_lh 0
//   adam      learning_rate 0.001, beta1 0.9, beta2 0.999, epsilon 1e-8
//   rmsprop   learning_rate 0.001, gamma1 0.9, gamma2 0.9, epsilon 1e-8, centered 0, clip_weights -1 (negative: none)
//   ftrl      learning_rate 0.1, lamda1 0.01, beta 1
//   ftml      learning_rate 0.01, beta1 0.6, beta2 0.999, epsilon 1e-8
using OptimizerParams = std::map<std::string, double>;

class Trainer {
 public:
  // ValueError: an unknown optimizer. TypeError: a setting that it does not have.
  Trainer(const ParameterDict& parameters, std::string_view optimizer, const OptimizerParams& settings = {});

  // Updates every parameter, except those whose grad_req is "null", with its gradient divided by `batch_size`.
  // RuntimeError: backward has not written a gradient since the last step (`ignore_stale_grad` leaves such parameters
  // alone). ValueError: batch_size < 1.
  void step(int64_t batch_size, bool ignore_stale_grad = false);

  double learning_rate() const { return settings_.at("learning_rate"); }
  void set_learning_rate(double rate) { settings_["learning_rate"] = rate; }

  // The learning rate and what the optimizer remembers of each parameter, as named arrays of a parameter file:
  // "learning_rate", "0.weight.updates" (how many there were), "0.weight.mom" (by the names of the operator's inputs).
  void save_states(const std::string& path) const;
  // What save_states wrote replaces what is here; nothing changes when it raises. ValueError: the file does not fit the
  // optimizer or the parameters. RuntimeError: it is broken, or a parameter that it knows has no values yet.
  void load_states(const std::string& path);

 private:
  struct Slot {
    std::string name;
    std::shared_ptr<Parameter> parameter;
    std::vector<NDArray> states;  // made at the first update
    int64_t updates = 0;
  };

  // Name in a file of a parameter's state `i`.
  std::string state_name(const Slot& slot, size_t i) const;
  size_t state_count() const;

  const UpdateRule* rule_;
  OptimizerParams settings_;
  const OpDef* operation_;
  std::vector<Slot> slots_;
};

}  // namespace gluon
}  // namespace headrace
