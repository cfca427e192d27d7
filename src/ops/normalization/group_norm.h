// Normalisation over groups of channels: every instance and group has statistics of its own.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
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
extern const KernelPartOf<void(KernelContext& context, const GroupNormCore& attrs)> group_norm_forward;
// inputs: gradient of the result, data, gamma, mean, deviation; outputs: gradients of data, gamma and beta
extern const KernelPartOf<void(KernelContext& context)> group_norm_backward;

}  // namespace headrace
