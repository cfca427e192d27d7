#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
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
constexpr const char* kPacksHeader = "ops/pooling/pooling_packs.cuh";

// How many channels a thread of pooling_packs.cuh takes; 0: they do not lie side by side, or there are too many packs.
int64_t pack_of(const PoolingProblem& p, PoolingPass pass) {
  const Image* const images[] = {&p.data, &p.result, &p.moving};
  const std::span used(images, pass == PoolingPass::kForward ? 2 : 3);
  const auto widest = static_cast<int64_t>(kPackBytes / item_size(p.data.dtype));
  bool is_packed = true;
  for (const Image* image : used) {
    if (image->strides[1] != 1 || image->size() > std::numeric_limits<int32_t>::max()) return 0;
    is_packed = is_packed && image->shape[1] % widest == 0 && begins_pack(image->data);
    for (size_t d = 0; d < image->strides.size(); ++d)
      is_packed = is_packed && (d == 1 || image->strides[d] % widest == 0);
  }
  return is_packed ? widest : 1;
}

void launch_packed(const char* function, const PoolingProblem& p, int64_t pack, int64_t size,
                   const device::PoolingArguments& arguments) {
  launch_cuda({kPacksHeader,
               fmt::format("{}<{}, static_cast<device::PoolKind>({}), {}>", function, element_name(p.data.dtype),
                           static_cast<int>(p.window.kind), pack),
               "PoolingArguments"},
              grid_of(size / pack), arguments);
}

// Where windows have their largest elements is found once, not by each element again.
void back_to_places(KernelContext& context, const PoolingProblem& p, device::PoolingArguments arguments) {
  const int64_t windows = p.result.size(), pack = pack_of(p, PoolingPass::kBackward);
  arguments.places = context.workspace<int32_t>(std::max<int64_t>(windows, 1));
  const std::string type = element_name(p.data.dtype);
  if (pack > 0) {
    if (windows > 0)
      launch_cuda({kPacksHeader, fmt::format("pool_places_packed<{}, {}>", type, pack), "PoolingArguments"},
                  grid_of(windows / pack), arguments);
    return launch_packed("pool_back_packed", p, pack, p.moving.size(), arguments);
  }
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
  const int64_t pack = pack_of(p, pass);
  if (pack > 0 && pass != PoolingPass::kTangent && w.kind != PoolKind::kNorm)
    return launch_packed(pass == PoolingPass::kForward ? "pool_packed" : "pool_back_packed", p, pack, size, arguments);
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
