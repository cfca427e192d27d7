// Normalisation over groups of channels: every instance and group has statistics of its own.
#pragma once

#include "op/kernel.h"
#include "op/op_def.h"

namespace headrace {

struct GroupNormCore {
  int64_t num_groups = 1;
  double eps = 1e-5;
  static constexpr auto kFields =
      fields(field(&GroupNormCore::num_groups, "num_groups", "Number of groups of neighbouring channels."),
             field(&GroupNormCore::eps, "eps", "Added to the variance."));
};

// inputs: data (batch, channels, ...), gamma, beta (groups); outputs: result, mean and sqrt(variance + eps) (batch,
// groups)
void group_norm_forward(KernelContext& context, const GroupNormCore& attrs);
// inputs: gradient of the result, data, gamma, mean, deviation; outputs: gradients of data, gamma and beta
void group_norm_backward(KernelContext& context);

}  // namespace headrace
