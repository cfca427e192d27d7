// Learning rates as functions of the number of updates, for TrainerOptions::lr_scheduler, which any function from a
// number of updates to a rate may be. The first `warmup_steps` updates rise from `warmup_begin_lr` to `base_lr`
// (`warmup_mode` "linear") or stay at `warmup_begin_lr` ("constant"). ValueError, when called: settings that make no
// sense, such as a factor above 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::lr_scheduler {

// Multiplies by `factor` every `step` updates, down to `stop_factor_lr`.
struct FactorScheduler {
  int64_t step;
  double factor = 1;
  double stop_factor_lr = 1e-8;
  double base_lr = 0.01;
  int64_t warmup_steps = 0;
  double warmup_begin_lr = 0;
  std::string warmup_mode = "linear";
  double operator()(int64_t num_update) const;
};

// Multiplies by `factor` after each of the updates in `step`, which increase.
struct MultiFactorScheduler {
  std::vector<int64_t> step;
  double factor = 1;
  double base_lr = 0.01;
  int64_t warmup_steps = 0;
  double warmup_begin_lr = 0;
  std::string warmup_mode = "linear";
  double operator()(int64_t num_update) const;
};

// final_lr + (base_lr - final_lr) (1 - p)^pwr, p being the share of the updates between warm-up and `max_update` that
// are over; then constant.
struct PolyScheduler {
  int64_t max_update;
  double base_lr = 0.01;
  double pwr = 2;
  double final_lr = 0;
  int64_t warmup_steps = 0;
  double warmup_begin_lr = 0;
  std::string warmup_mode = "linear";
  double operator()(int64_t num_update) const;
};

// final_lr + (base_lr - final_lr) (1 + cos(pi p)) / 2, p as above; then constant.
struct CosineScheduler {
  int64_t max_update;
  double base_lr = 0.01;
  double final_lr = 0;
  int64_t warmup_steps = 0;
  double warmup_begin_lr = 0;
  std::string warmup_mode = "linear";
  double operator()(int64_t num_update) const;
};

}  // namespace headrace::lr_scheduler
