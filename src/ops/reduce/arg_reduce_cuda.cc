#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/reduce/arg_reduce.cuh"
#include "ops/reduce/arg_reduce.h"
#include "ops/reduce/row_width_cuda.h"

namespace headrace {
namespace {

void arg_reduce_cuda(KernelContext&, const Tensor& input, const AxisSpace& space, bool largest, const Tensor& output) {
  if (output.size == 0) return;
  const RowWidth width(space.length, space.inner);
  const device::ArgReduceArguments arguments{input.data, output.data, space.outer * space.inner, space.length,
                                             space.inner};
  launch_cuda({"ops/reduce/arg_reduce.cuh",
               fmt::format("arg_reduce<{}, {}, {}, {}>", element_name(input.dtype), element_name(output.dtype), largest,
                           width.threads),
               "ArgReduceArguments"},
              width.grid(arguments.rows), arguments);
}

}  // namespace

void add_arg_reduce_cuda(KernelTable& table) {
  table.set_part(arg_reduce, arg_reduce_cuda);
  table.set_own_kernels({"argmax", "argmin", "_npi_argmax", "_npi_argmin", "argmax_channel"});
}

}  // namespace headrace
