#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/reduce/scan.cuh"
#include "ops/reduce/scan.h"

namespace headrace {
namespace {

void cumulative_sum_cuda(KernelContext&, const Tensor& input, const AxisSpace& space, bool reverse,
                         const Tensor& output) {
  constexpr unsigned kThreads = 256;  // as in op/device/group.cuh
  constexpr int64_t kShortRow = 64;   // elements that one thread sums
  if (input.size == 0) return;
  const int64_t rows = space.outer * space.inner;
  const bool by_blocks = space.length > kShortRow;
  const device::ScanArguments arguments{input.data, output.data, rows, space.length, space.inner, reverse};
  launch_cuda({"ops/reduce/scan.cuh",
               fmt::format("running_sums<{}, {}, {}>", element_name(input.dtype),
                           is_floating(input.dtype) ? "double" : "uint64_t", by_blocks ? kThreads : 1),
               "ScanArguments"},
              {blocks_for(by_blocks ? rows : (rows + kThreads - 1) / kThreads), kThreads}, arguments);
}

}  // namespace

void add_scan_cuda(KernelTable& table) {
  table.set_part(cumulative_sum, cumulative_sum_cuda);
  table.set_own_kernels({"_cumulative_sum"});
}

}  // namespace headrace
