#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/reduce/arg_reduce.cuh"
#include "ops/reduce/arg_reduce.h"
#include "ops/reduce/row_width_cuda.h"

namespace headrace {
namespace {

constexpr const char* kArgReduceHeader = "ops/reduce/arg_reduce.cuh";

void arg_reduce_cuda(KernelContext& c, const Tensor& input, const AxisSpace& space, bool largest,
                     const Tensor& output) {
  if (output.size == 0) return;
  const int64_t rows = space.outer * space.inner;
  const RowWidth width(space.length, space.inner);
  const RowParts cut(space.length, width.threads, width.blocks(rows));
  const std::string type = element_name(input.dtype), place = element_name(output.dtype);
  auto* const places = cut.count > 1 ? c.workspace<int64_t>(static_cast<size_t>(rows * cut.count)) : nullptr;
  const device::ArgReduceArguments arguments{
      input.data, places ? places : output.data, rows, space.length, space.inner, cut.count, cut.length};
  launch_cuda({kArgReduceHeader,
               fmt::format("arg_reduce<{}, {}, {}, {}>", type, places ? "int64_t" : place, largest, width.threads),
               "ArgReduceArguments"},
              width.grid(rows * cut.count), arguments);
  if (!places) return;
  const device::BestPartArguments parts{input.data, places, output.data, rows, space.length, space.inner, cut.count};
  launch_cuda({kArgReduceHeader, fmt::format("best_part<{}, {}, {}>", type, place, largest), "BestPartArguments"},
              grid_of(rows * RowWidth::kWarp), parts);
}

}  // namespace

void add_arg_reduce_cuda(KernelTable& table) {
  table.set_part(arg_reduce, arg_reduce_cuda);
  table.set_own_kernels({"argmax", "argmin", "_npi_argmax", "_npi_argmin", "argmax_channel"});
}

}  // namespace headrace
