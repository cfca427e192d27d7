#include "headrace/lr_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/check.h"

namespace headrace::lr_scheduler {
namespace {

// The rate of an update of the warm-up; none: it is over.
template <class Scheduler>
std::optional<double> warmup_lr(const Scheduler& s, int64_t num_update) {
  check(s.warmup_begin_lr <= s.base_lr, ErrorKind::kValue,
        "lr_scheduler: base_lr must not be below warmup_begin_lr, got {} and {}", s.base_lr, s.warmup_begin_lr);
  check(s.warmup_steps >= 0, ErrorKind::kValue, "lr_scheduler: warmup_steps must not be negative, got {}",
        s.warmup_steps);
  check(s.warmup_mode == "linear" || s.warmup_mode == "constant", ErrorKind::kValue,
        "lr_scheduler: warmup_mode must be linear or constant, got {}", s.warmup_mode);
  if (num_update >= s.warmup_steps) return {};
  if (s.warmup_mode == "constant") return s.warmup_begin_lr;
  return s.warmup_begin_lr +
         (s.base_lr - s.warmup_begin_lr) * static_cast<double>(num_update) / static_cast<double>(s.warmup_steps);
}

void check_factor(double factor) {
  check(factor <= 1, ErrorKind::kValue, "lr_scheduler: factor must be no more than 1, got {}", factor);
}

// The rate at which `remaining` of the way from base_lr to final_lr lies ahead, by the share of it that is over.
template <class Scheduler, class Curve>
double decayed(const Scheduler& s, int64_t num_update, Curve&& remaining) {
  check(s.max_update >= 1, ErrorKind::kValue, "lr_scheduler: max_update must be positive, got {}", s.max_update);
  if (const std::optional<double> rate = warmup_lr(s, num_update)) return *rate;
  const int64_t steps = s.max_update - s.warmup_steps, gone = std::min(num_update, s.max_update) - s.warmup_steps;
  const double progress = steps > 0 ? static_cast<double>(gone) / static_cast<double>(steps) : 1;
  return s.final_lr + (s.base_lr - s.final_lr) * remaining(progress);
}

}  // namespace

double FactorScheduler::operator()(int64_t num_update) const {
  check(step >= 1, ErrorKind::kValue, "FactorScheduler: step must be positive, got {}", step);
  check_factor(factor);
  if (const std::optional<double> rate = warmup_lr(*this, num_update)) return *rate;
  double rate = base_lr;
  for (int64_t k = step; k < num_update && factor != 1; k += step) {
    rate *= factor;
    if (rate < stop_factor_lr) return stop_factor_lr;
  }
  return rate;
}

double MultiFactorScheduler::operator()(int64_t num_update) const {
  const bool increases = std::ranges::adjacent_find(step, std::greater_equal<>()) == step.end();
  check(!step.empty() && step[0] >= 1 && increases, ErrorKind::kValue,
        "MultiFactorScheduler: step must hold positive numbers that increase");
  check_factor(factor);
  if (const std::optional<double> rate = warmup_lr(*this, num_update)) return *rate;
  double rate = base_lr;
  for (const int64_t one : step)
    if (num_update > one) rate *= factor;
  return rate;
}

double PolyScheduler::operator()(int64_t num_update) const {
  return decayed(*this, num_update, [&](double progress) { return std::pow(1 - progress, pwr); });
}

double CosineScheduler::operator()(int64_t num_update) const {
  return decayed(*this, num_update, [](double progress) { return (1 + std::cos(std::numbers::pi * progress)) / 2; });
}

}  // namespace headrace::lr_scheduler
