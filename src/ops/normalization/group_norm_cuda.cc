#include <fmt/format.h>

#include <algorithm>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/normalization/group_norm.cuh"
#include "ops/normalization/group_norm.h"

namespace headrace {
namespace {

constexpr const char* kGroupHeader = "ops/normalization/group_norm.cuh";
constexpr unsigned kGroupThreads = 256;  // as in op/device/group.cuh

const char* compute_of(const Tensor& data) { return data.dtype == DType::kFloat64 ? "double" : "float"; }

void group_forward_cuda(KernelContext& c, const GroupNormCore& a) {
  const Tensor &x = c.input(0), &mean = c.output(1);
  if (mean.size == 0) return;
  const device::GroupNormArguments arguments{.x = x.data,
                                             .gamma = c.input(1).data,
                                             .beta = c.input(2).data,
                                             .to = c.output(0).data,
                                             .mean = mean.data,
                                             .deviation = c.output(2).data,
                                             .planes = mean.size,
                                             .length = x.size / mean.size,
                                             .groups = mean.shape[1],
                                             .eps = a.eps};
  launch_cuda({kGroupHeader,
               fmt::format("group_norm<{}, {}, {}, {}>", compute_of(x), element_name(x.dtype),
                           element_name(c.input(1).dtype), element_name(c.input(2).dtype)),
               "GroupNormArguments"},
              {blocks_for(mean.size), kGroupThreads}, arguments);
}

void group_backward_cuda(KernelContext& c) {
  const Tensor &dy = c.input(0), &x = c.input(1), &gamma = c.input(2), &mean = c.input(3), &deviation = c.input(4);
  double* const sums = c.workspace<double>(std::max<int64_t>(2 * mean.size, 1));
  const int64_t groups = gamma.size;
  if (groups == 0) return;
  if (mean.size > 0) {
    const device::GroupNormArguments arguments{.x = x.data,
                                               .dy = dy.data,
                                               .gamma = gamma.data,
                                               .to = c.output(0).data,
                                               .mean = mean.data,
                                               .deviation = deviation.data,
                                               .sums = sums,
                                               .planes = mean.size,
                                               .length = x.size / mean.size,
                                               .groups = groups};
    launch_cuda({kGroupHeader,
                 fmt::format("group_norm_gradient<{}, {}, {}, {}, {}, {}>", compute_of(x), element_name(x.dtype),
                             element_name(gamma.dtype), element_name(dy.dtype), element_name(mean.dtype),
                             element_name(deviation.dtype)),
                 "GroupNormArguments"},
                {blocks_for(mean.size), kGroupThreads}, arguments);
  }
  const device::GroupSumArguments arguments{sums, c.output(1).data, c.output(2).data, mean.size / groups, groups};
  launch_cuda({kGroupHeader, fmt::format("group_norm_sums<{}>", element_name(gamma.dtype)), "GroupSumArguments"},
              {blocks_for((groups + kGroupThreads - 1) / kGroupThreads), kGroupThreads}, arguments);
}

}  // namespace

void add_group_norm_cuda(KernelTable& table) {
  table.set_part(group_norm_forward, group_forward_cuda);
  table.set_part(group_norm_backward, group_backward_cuda);
  table.set_own_kernels({"_group_norm", "_backward_GroupNorm"});
}

}  // namespace headrace
