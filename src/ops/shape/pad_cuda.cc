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

device::PadArguments pad_arguments(const KernelContext& c, const Shape& inside, const Shape& width) {
  const Tensor& to = c.output(0);
  device::PadArguments a{.from = c.input(0).data, .to = to.data, .count = to.size};
  bool has_border = true;  // the dimension before
  for (size_t d = 0; d < inside.size(); ++d) {
    const bool had_border = has_border;
    const int64_t before = width[2 * d], padded = before + inside[d] + width[2 * d + 1];
    has_border = padded != inside[d];
    if (!has_border && !had_border) {
      a.extents[a.dims - 1] *= inside[d];
      a.padded[a.dims - 1] *= inside[d];
      continue;
    }
    check(a.dims < device::PadArguments::kMostDims, ErrorKind::kValue, "{}: an array of {} dimensions has too many",
          c.name(), inside.size());
    a.extents[a.dims] = inside[d];
    a.before[a.dims] = before;
    a.padded[a.dims++] = padded;
  }
  return a;
}

void launch_pad(const std::string& function, Border border, const device::PadArguments& a) {
  launch_cuda({"ops/shape/pad.cuh", fmt::format("{}, static_cast<Border>({})>", function, static_cast<int>(border)),
               "PadArguments"},
              grid_of(a.count), a);
}

void pad_elements_cuda(KernelContext& c, const Shape& width, Border border, double constant) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  device::PadArguments a = pad_arguments(c, c.input(0).shape, width);
  dispatch(to.dtype, [&]<class T>() {
    const T converted = numeric_cast<T>(constant);
    std::memcpy(&a.constant, &converted, sizeof converted);
  });
  launch_pad(fmt::format("pad_elements<{}", bits_name(to.dtype)), border, a);
}

void add_padded_cuda(KernelContext& c, const Shape& width, Border border) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  launch_pad(fmt::format("add_padded<{}, {}", element_name(to.dtype), compute_name(to.dtype)), border,
             pad_arguments(c, to.shape, width));
}

}  // namespace

void add_pad_cuda(KernelTable& table) {
  table.set_part(pad_elements, pad_elements_cuda);
  table.set_part(add_padded, add_padded_cuda);
  table.set_own_kernels({"Pad", "_pad", "_pad_back"});
}

}  // namespace headrace
