#include "ops/normalization/local_norm.h"

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/normalization/local_norm.cuh"
#include "ops/reduce/rows.h"

namespace headrace {
namespace {

void window_sums_cuda(KernelContext& c, int64_t nsize) {
  constexpr unsigned kThreads = 256;
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const AxisSpace space = AxisSpace::along(to.shape, 1);
  const device::WindowSumArguments arguments{from.data, to.data, to.size, space.length, space.inner, (nsize - 1) / 2};
  const std::string element = element_name(to.dtype);
  launch_cuda({"ops/normalization/local_norm.cuh",
               "channel_window_sums<" + element + (to.dtype == DType::kFloat64 ? ", double>" : ", float>"),
               "WindowSumArguments"},
              {blocks_for((to.size + kThreads - 1) / kThreads), kThreads}, arguments);
}

}  // namespace

void add_local_norm_cuda(KernelTable& table) {
  table.set_part(channel_window_sums, window_sums_cuda);
  table.set_own_kernels({"_channel_window_sum"});
}

}  // namespace headrace
