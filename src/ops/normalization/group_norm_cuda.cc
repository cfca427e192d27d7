#include <fmt/format.h>

#include <algorithm>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/normalization/group_norm.cuh"
#include "ops/normalization/group_norm.h"
#include "ops/reduce/row_width_cuda.h"

namespace headrace {
namespace {

constexpr const char* kGroupNormHeader = "ops/normalization/group_norm.cuh";

void group_norm_cuda(KernelContext& c, const GroupNormCore& a) {
  const Tensor &x = c.input(0), &mean = c.output(1);
  if (mean.size == 0) return;
  const device::GroupNormArguments arguments{.x = x.data,
                                             .gamma = c.input(1).data,
                                             .beta = c.input(2).data,
                                             .y = c.output(0).data,
                                             .mean = mean.data,
                                             .deviation = c.output(2).data,
                                             .planes = mean.size,
                                             .length = x.size / mean.size,
                                             .groups = mean.shape[1],
                                             .eps = a.eps};
  const RowWidth width(arguments.length, 1);
  launch_cuda({kGroupNormHeader,
               fmt::format("group_norm<{}, {}, {}, {}, {}>", compute_name(x.dtype), element_name(x.dtype),
                           element_name(c.input(1).dtype), element_name(c.input(2).dtype), width.threads),
               "GroupNormArguments"},
              width.grid(arguments.planes), arguments);
}

void group_norm_gradient_cuda(KernelContext& c) {
  const Tensor &x = c.input(1), &gamma = c.input(2), &mean = c.input(3);
  const int64_t planes = mean.size;
  double* const sums = c.workspace<double>(std::max<int64_t>(2 * planes, 1));
  if (planes > 0) {
    const device::GroupNormGradientArguments arguments{.dy = c.input(0).data,
                                                       .x = x.data,
                                                       .gamma = gamma.data,
                                                       .mean = mean.data,
                                                       .deviation = c.input(4).data,
                                                       .dx = c.output(0).data,
                                                       .sums = sums,
                                                       .planes = planes,
                                                       .length = x.size / planes,
                                                       .groups = gamma.size};
    const RowWidth width(arguments.length, 1);
    launch_cuda({kGroupNormHeader,
                 fmt::format("group_norm_gradient<{}, {}, {}, {}, {}, {}>", compute_name(x.dtype),
                             element_name(x.dtype), element_name(gamma.dtype), element_name(mean.dtype),
                             element_name(c.input(4).dtype), width.threads),
                 "GroupNormGradientArguments"},
                width.grid(planes), arguments);
  }
  if (gamma.size == 0) return;
  const device::GroupNormSumArguments arguments{sums, c.output(1).data, c.output(2).data, planes, gamma.size};
  launch_cuda(
      {kGroupNormHeader, fmt::format("group_norm_sums<{}>", element_name(gamma.dtype)), "GroupNormSumArguments"},
      grid_of(gamma.size), arguments);
}

}  // namespace

void add_group_norm_cuda(KernelTable& table) {
  table.set_part(group_norm_forward, group_norm_cuda);
  table.set_part(group_norm_backward, group_norm_gradient_cuda);
  table.set_own_kernels({"_group_norm", "_backward_GroupNorm"});
}

}  // namespace headrace
