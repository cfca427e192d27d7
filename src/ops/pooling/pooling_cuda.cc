#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/dtype_dispatch.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/convolution/window_cuda.h"
#include "ops/pooling/pooling.cuh"
#include "ops/pooling/pooling.h"

namespace headrace {
namespace {

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

constexpr const char* kHeader = "ops/pooling/pooling.cuh";

// Where windows have their largest elements is found once, not by each element again.
void back_to_places(KernelContext& context, const PoolingProblem& p, device::PoolingArguments arguments) {
  const int64_t windows = p.result.size();
  arguments.places = context.workspace<int32_t>(std::max<int64_t>(windows, 1));
  const std::string type = element_name(p.data.dtype);
  if (windows > 0) launch_cuda({kHeader, "pool_places<" + type + ">", "PoolingArguments"}, grid_of(windows), arguments);
  launch_cuda({kHeader, "pool_back_to_places<" + type + ">", "PoolingArguments"}, grid_of(p.moving.size()), arguments);
}

void pool_cuda(KernelContext& context, PoolingPass pass, const PoolingProblem& p) {
  const int64_t size = pass == PoolingPass::kBackward ? p.moving.size() : p.result.size();
  if (size == 0) return;
  const PoolWindow& w = p.window;
  const bool has_moving = pass != PoolingPass::kForward;
  const device::PoolingArguments arguments{p.data.data,
                                           p.result.data,
                                           p.moving.data,
                                           nullptr,
                                           p.data.shape[0],
                                           p.data.shape[1],
                                           device_window(p.data, p.result, w.kernel, w.stride, {}, w.pad),
                                           device_strides(p.data),
                                           device_strides(p.result),
                                           device_strides(has_moving ? p.moving : p.data),
                                           least_of(p.data.dtype),
                                           w.p,
                                           w.counts_padding};
  const int64_t plane = p.data.size() / std::max<int64_t>(1, p.data.shape[0] * p.data.shape[1]);
  if (pass == PoolingPass::kBackward && w.kind == PoolKind::kMax && plane <= std::numeric_limits<int32_t>::max())
    return back_to_places(context, p, arguments);
  launch_cuda({kHeader,
               fmt::format("{}<{}, static_cast<device::PoolKind>({})>", function_of(pass), element_name(p.data.dtype),
                           static_cast<int>(w.kind)),
               "PoolingArguments"},
              grid_of(size), arguments);
}

}  // namespace

void add_pooling_cuda(KernelTable& table) {
  table.set_part(pooling_part, pool_cuda);
  table.set_own_kernels({"Pooling", "_backward_Pooling", "_pooling_tangent"});
}

}  // namespace headrace
