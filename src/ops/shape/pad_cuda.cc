#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/shape/pad.cuh"
#include "ops/shape/pad.h"

namespace headrace {
namespace {

// `inner`: what has no border.
device::PadArguments pad_arguments(const KernelContext& c, const Tensor& from, const Shape& width, const Shape& inner,
                                   const Tensor& to) {
  check(inner.size() <= device::kMostPaddedAxes, ErrorKind::kRuntime,
        "{}: arrays may have up to {} axes on GPUs, got {}", c.name(), device::kMostPaddedAxes, inner.size());
  device::PadArguments made{.from = from.data, .to = to.data, .count = to.size};
  made.axes = static_cast<int64_t>(inner.size());
  for (size_t d = 0; d < inner.size(); ++d) {
    made.extents[d] = inner[d];
    made.before[d] = width[2 * d];
    made.after[d] = width[2 * d + 1];
  }
  return made;
}

void launch_pad(const std::string& function, const device::PadArguments& arguments) {
  constexpr unsigned kThreads = 256;
  launch_cuda({"ops/shape/pad.cuh", function, "PadArguments"},
              {blocks_for((arguments.count + kThreads - 1) / kThreads), kThreads}, arguments);
}

std::string border_name(Border border) {
  return fmt::format("static_cast<device::Border>({})", static_cast<int>(border));
}

void pad_elements_cuda(KernelContext& c, const Tensor& from, const Shape& width, Border border, double value,
                       const Tensor& to) {
  if (to.size == 0) return;
  device::PadArguments arguments = pad_arguments(c, from, width, from.shape, to);
  dispatch(to.dtype, [&]<class T>() {
    const T filling = numeric_cast<T>(value);
    std::memcpy(&arguments.filling, &filling, sizeof filling);
  });
  launch_pad(fmt::format("pad_elements<uint{}_t, {}>", 8 * item_size(to.dtype), border_name(border)), arguments);
}

void collect_copies_cuda(KernelContext& c, const Tensor& from, const Shape& width, Border border, const Tensor& to) {
  if (to.size == 0) return;
  launch_pad(fmt::format("collect_copies<{}, {}, {}>", element_name(to.dtype),
                         to.dtype == DType::kFloat64 ? "double" : "float", border_name(border)),
             pad_arguments(c, from, width, to.shape, to));
}

}  // namespace

void add_pad_cuda(KernelTable& table) {
  table.set_part(pad_elements, pad_elements_cuda);
  table.set_part(collect_copies, collect_copies_cuda);
  table.set_own_kernels({"Pad", "_pad", "_pad_back"});
}

}  // namespace headrace
