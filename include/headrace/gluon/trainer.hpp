// Trainer: changes parameters by their gradients, on one device or on several. Belongs to one thread at a time; updates
// run later, in the order of the operations that read or write the parameters.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/gluon/parameter.hpp"
#include "headrace/kvstore.hpp"

namespace headrace::gluon {

// Settings of an optimizer by name, truths as 0 and 1. Every optimizer has learning_rate, wd (0) and clip_gradient (-1;
// negative: none). Names and defaults are MXNet's:
//   sgd, nag  learning_rate 0.01, momentum 0
//   signum    learning_rate 0.01, momentum 0.9, wd_lh 0
//   adam      learning_rate 0.001, beta1 0.9, beta2 0.999, epsilon 1e-8
//   rmsprop   learning_rate 0.001, gamma1 0.9, gamma2 0.9, epsilon 1e-8, centered 0, clip_weights -1 (negative: none)
//   ftrl      learning_rate 0.1, lamda1 0.01, beta 1
//   ftml      learning_rate 0.01, beta1 0.6, beta2 0.999, epsilon 1e-8
using OptimizerParams = std::map<std::string, double>;

struct TrainerOptions {
  // The store that sums the gradients of several devices, a name of kvstore::kinds(); empty: none, every device goes on
  // with its own gradients. One device needs no store, unless it is of a distributed kind.
  std::string kvstore = "device";
  // Whether the store updates its copy of the parameters and sends it to the devices. False: it sums gradients, and
  // each device updates its own parameters, as with a store that has servers always. None: the store where it can.
  std::optional<bool> update_on_kvstore = {};
  std::optional<kvstore::TwoBitCompression> compression = {};
  // The learning rate as a function of how often the parameter was updated that was updated most often, this time
  // included: one of lr_scheduler.hpp, or another one. Null: it stays as it is set.
  std::function<double(int64_t num_update)> lr_scheduler = {};
};

class Trainer {
 public:
  // `optimizer`: its name in any case. ValueError: an unknown one, or a learning_rate beside a scheduler. TypeError: a
  // setting that it does not have, or a parameter that is null. A trainer that was moved from raises RuntimeError.
  Trainer(const ParameterDict& parameters, std::string_view optimizer, const OptimizerParams& settings = {},
          const TrainerOptions& options = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // Updates every parameter, except those whose grad_req is "null", with its gradient, summed over the devices and
  // divided by `batch_size`. RuntimeError, before anything changes: backward has not written a gradient since the last
  // step. With `ignore_stale_grad` such a gradient counts as zero; a parameter without any other is left alone.
  // ValueError: batch_size < 1, parameters on different devices, no store of that name, or one that cannot do what
  // update_on_kvstore asks for. RuntimeError: a distributed store would have to take other devices or values in
  // between.
  void step(int64_t batch_size, bool ignore_stale_grad = false);
  // For a rank that has no more data while others go on: takes part in their steps with gradients of zeros, until all
  // ranks have come here; they have the same parameters then. Arguments as those of the others' step(). Does nothing
  // without other ranks, and where the store is asynchronous. Raises RuntimeError when a rank has ended and has not
  // come here, and what step() raises.
  void join(int64_t batch_size, bool ignore_stale_grad = false);
  // The halves of a step. RuntimeError: the store updates the parameters.
  void allreduce_grads();
  void update(int64_t batch_size, bool ignore_stale_grad = false);

  double learning_rate() const;  // with a scheduler, that of the last update
  // RuntimeError: there is a scheduler.
  void set_learning_rate(double rate);

  // The learning rate and what the optimizer remembers of each parameter, as named arrays of a parameter file:
  // "learning_rate", "0.weight.updates" (how many there were), "0.weight.mom" (by the names of the operator's inputs).
  // All ranks call it where the store is one whose ranks share updates (kvstore::KVStore::shares_updates).
  void save_states(const std::string& path) const;
  // What save_states wrote, on as many devices as there may have been, replaces what is here; nothing changes when it
  // raises. ValueError: the file does not fit the optimizer or the parameters. RuntimeError: it is broken, or a
  // parameter that it knows has no values yet.
  void load_states(const std::string& path);

 private:
  class Impl;

  Impl& impl() const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace::gluon
