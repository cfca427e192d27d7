// Batch normalisation: per channel of one axis, y = (x - mean) / sqrt(variance + eps) * gamma + beta.
#pragma once

#include <string>

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

// Of the internal operators. `activation` is "" or "relu", applied to the result.
struct BatchNormCore {
  int64_t axis = 1;
  double eps = 1e-3, momentum = 0.9;
  bool fix_gamma = true;
  std::string activation = "";
  static constexpr auto kFields = fields(
      field(&BatchNormCore::axis, "axis", "Axis of the channels; negative counts from the end."),
      field(&BatchNormCore::eps, "eps", "Added to the variance."),
      field(&BatchNormCore::momentum, "momentum", "Share of the old value in a moving statistic."),
      field(&BatchNormCore::fix_gamma, "fix_gamma", "Whether gamma counts as 1."),
      field(&BatchNormCore::activation, "activation", "Applied to the result: nothing or relu.").one_of("|relu"));
};

struct BatchNormAgain {
  int64_t axis = 1;
  bool fix_gamma = true;
  std::string activation = "";
  static constexpr auto kFields = fields(
      field(&BatchNormAgain::axis, "axis", "Axis of the channels; negative counts from the end."),
      field(&BatchNormAgain::fix_gamma, "fix_gamma", "Whether gamma counts as 1."),
      field(&BatchNormAgain::activation, "activation", "Applied to the result: nothing or relu.").one_of("|relu"));
};

struct BatchNormBack {
  int64_t axis = 1;
  bool fix_gamma = true, through_statistics = true;
  std::string activation = "";
  static constexpr auto kFields = fields(
      field(&BatchNormBack::axis, "axis", "Axis of the channels."),
      field(&BatchNormBack::fix_gamma, "fix_gamma", "Whether gamma counts as 1."),
      field(&BatchNormBack::through_statistics, "through_statistics", "Whether mean and variance depend on the data."),
      field(&BatchNormBack::activation, "activation", "Applied to the result: nothing or relu.").one_of("|relu"));
};

// inputs: data, gamma, beta, moving mean, moving variance; outputs: result, mean, 1 / sqrt(variance + eps).
// Training takes the statistics of the batch and updates the moving ones; gamma becomes 1 where it is fixed.
extern const KernelPartOf<void(KernelContext&context, const BatchNormCore&attrs)> batch_norm_train, batch_norm_predict;
// inputs: data, gamma, beta, mean, 1 / sqrt(variance + eps); outputs: the result that had these statistics, to the bit.
extern const KernelPartOf<void(KernelContext& context, const BatchNormAgain& attrs)> batch_norm_again;
// Of operators that do this; `axis` counts from the front.
void infer_batch_norm_again(Infer& infer, int64_t axis);
// inputs: gradient of the result, data, gamma, beta, mean, 1 / sqrt(variance + eps); outputs: gradients of data, gamma
// and beta. Data and results lie row-major, or channels-last where the first output does.
extern const KernelPartOf<void(KernelContext& context, const BatchNormBack& attrs)> batch_norm_backward;
// inputs: gamma, beta, moving mean, moving variance, packed float32; outputs: scale and shift.
extern const KernelPartOf<void(KernelContext& context, double eps, bool fix_gamma)> batch_norm_affine;

}  // namespace headrace
