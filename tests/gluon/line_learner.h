// The least that a trainer can train.
#pragma once

#include <headrace/headrace.hpp>

#include "tests/support/arrays.h"

namespace headrace {

// Learns `y = w x` from x = 1, y = 0, beginning with w = 1: the gradient of a step is w.
struct LineLearner {
  LineLearner(const char* optimizer, const gluon::OptimizerParams& settings, const gluon::TrainerOptions& options = {})
      : trainer(prepared(dense).collect_params(), optimizer, settings, options) {}

  void learn(int steps) {
    const NDArray x = array({1, 1}, {2, 1}), label = array({0, 0}, {2, 1});
    for (int step = 0; step < steps; ++step) {
      NDArray loss;
      {
        autograd::RecordScope scope;
        loss = gluon::loss::L2Loss()(dense(x), label);
      }
      autograd::backward(loss);
      trainer.step(2);
    }
  }
  double weight() const { return dense.collect_params()["weight"]->data().item(); }

  static gluon::nn::Dense& prepared(gluon::nn::Dense& dense) {
    dense.initialize(init::One());
    return dense;
  }

  gluon::nn::Dense dense{1, {.use_bias = false, .in_units = 1}};
  gluon::Trainer trainer;
};

}  // namespace headrace
