#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/image/resample.cuh"
#include "ops/image/resample.h"

namespace headrace {
namespace {

static_assert(sizeof(ResampleTaps::Tap) == sizeof(device::ResampleTap));

void resample_cuda(KernelContext& c, const ResampleAttrs& a) {
  const Tensor &x = c.input(0), &y = c.output(0);
  if (y.size == 0) return;
  const ResampleTaps rows = row_taps(a), columns = column_taps(a);
  const auto taps = [&](const ResampleTaps& of) {
    return static_cast<const device::ResampleTap*>(copy_to_device(c, std::as_bytes(std::span(of.taps))));
  };
  const auto firsts = [&](const ResampleTaps& of) {
    return static_cast<const int64_t*>(copy_to_device(c, std::as_bytes(std::span(of.first))));
  };
  const size_t last = x.shape.size() - 1;
  const device::ResampleArguments arguments{.from = x.data,
                                            .to = y.data,
                                            .first_of_rows = firsts(rows),
                                            .row_taps = taps(rows),
                                            .first_of_columns = firsts(columns),
                                            .column_taps = taps(columns),
                                            .in_size = x.shape[last] * x.shape[last - 1],
                                            .in_width = x.shape[last],
                                            .out_height = y.shape[last - 1],
                                            .out_width = y.shape[last],
                                            .count = y.size};
  launch_cuda({"ops/image/resample.cuh", fmt::format("resample<{}, {}>", compute_name(x.dtype), element_name(x.dtype)),
               "ResampleArguments"},
              grid_of(y.size), arguments);
}

}  // namespace

void add_resample_cuda(KernelTable& table) {
  table.set_part(resample, resample_cuda);
  table.set_own_kernels({"_resample2d"});
}

}  // namespace headrace
