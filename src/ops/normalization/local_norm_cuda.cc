#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/normalization/local_norm.cuh"
#include "ops/normalization/local_norm.h"
#include "ops/reduce/rows.h"

namespace headrace {
namespace {

void sum_channel_windows_cuda(KernelContext& c, int64_t beside) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const AxisSpace space = AxisSpace::along(to.shape, 1);
  const device::WindowSumArguments arguments{from.data, to.data, to.size, space.length, space.inner, beside};
  launch_cuda({"ops/normalization/local_norm.cuh",
               fmt::format("sum_channel_windows<{}, {}>", compute_name(to.dtype), element_name(to.dtype)),
               "WindowSumArguments"},
              grid_of(to.size), arguments);
}

}  // namespace

void add_local_norm_cuda(KernelTable& table) {
  table.set_part(sum_channel_windows, sum_channel_windows_cuda);
  table.set_own_kernels({"_channel_window_sum"});
}

}  // namespace headrace
