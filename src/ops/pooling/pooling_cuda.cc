#include <fmt/format.h>

#include <limits>

#include "base/dtype_dispatch.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/convolution/window_cuda.h"
#include "ops/pooling/pooling.cuh"
#include "ops/pooling/pooling.h"

namespace headrace {
namespace {

constexpr unsigned kThreads = 256;

// The least finite number.
double least_of(DType dtype) {
  if (dtype == DType::kFloat16) return -65504;
  if (dtype == DType::kBfloat16) return -0x1.fep127;
  double least = 0;
  dispatch(dtype, [&]<class T>() { least = static_cast<double>(std::numeric_limits<T>::lowest()); });
  return least;
}

const char* function_of(PoolingPass pass) {
  return pass == PoolingPass::kForward ? "pool" : pass == PoolingPass::kBackward ? "pool_back" : "pool_tangent";
}

void pool_cuda(KernelContext&, PoolingPass pass, const PoolingProblem& p) {
  const int64_t size = pass == PoolingPass::kBackward ? p.moving.size() : p.result.size();
  if (size == 0) return;
  const PoolWindow& w = p.window;
  const bool has_moving = pass != PoolingPass::kForward;
  const device::PoolingArguments arguments{p.data.data,
                                           p.result.data,
                                           p.moving.data,
                                           p.data.shape[0],
                                           p.data.shape[1],
                                           device_window(p.data, p.result, w.kernel, w.stride, {}, w.pad),
                                           device_strides(p.data),
                                           device_strides(p.result),
                                           device_strides(has_moving ? p.moving : p.data),
                                           least_of(p.data.dtype),
                                           w.p,
                                           w.counts_padding};
  launch_cuda({"ops/pooling/pooling.cuh",
               fmt::format("{}<{}, static_cast<device::PoolKind>({})>", function_of(pass), element_name(p.data.dtype),
                           static_cast<int>(w.kind)),
               "PoolingArguments"},
              {blocks_for((size + kThreads - 1) / kThreads), kThreads}, arguments);
}

}  // namespace

void add_pooling_cuda(KernelTable& table) {
  table.set_part(pooling_part, pool_cuda);
  table.set_own_kernels({"Pooling", "_backward_Pooling", "_pooling_tangent"});
}

}  // namespace headrace
