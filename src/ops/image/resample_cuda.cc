#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/image/resample.cuh"
#include "ops/image/resample.h"

namespace headrace {
namespace {

device::ResampleKind resample_kind(const std::string& word) {
  if (word == "aligned") return device::ResampleKind::kAligned;
  if (word == "centred") return device::ResampleKind::kCentred;
  return word == "nearest" ? device::ResampleKind::kNearest : device::ResampleKind::kMean;
}

void resample_cuda(KernelContext& c, const ResampleAttrs& a) {
  constexpr unsigned kThreads = 256;
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const int64_t plane = to.shape[to.shape.size() - 2] * to.shape.back();
  const device::ResampleArguments arguments{
      from.data, to.data, to.size / plane, {a.height, a.out_height}, {a.width, a.out_width}};
  launch_cuda({"ops/image/resample.cuh",
               fmt::format("resample<{}, {}, static_cast<device::ResampleKind>({}), {}>",
                           to.dtype == DType::kFloat64 ? "double" : "float", element_name(to.dtype),
                           static_cast<int>(resample_kind(a.kind)), a.transposed),
               "ResampleArguments"},
              {blocks_for((to.size + kThreads - 1) / kThreads), kThreads}, arguments);
}

}  // namespace

void add_resample_cuda(KernelTable& table) {
  table.set_part(resample, resample_cuda);
  table.set_own_kernels({"_resample2d"});
}

}  // namespace headrace
