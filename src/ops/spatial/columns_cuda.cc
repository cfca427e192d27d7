#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/spatial/columns.cuh"
#include "ops/spatial/columns.h"

namespace headrace {
namespace {

// `planes`: images times channels.
void launch_columns(KernelContext& c, const std::string& function, const ColumnGrid& grid, int64_t planes) {
  device::SpatialColumnArguments arguments{c.input(0).data, c.output(0).data, planes, {}};
  device::WindowGeometry& window = arguments.window;
  for (size_t d = 0; d < 3; ++d) {
    const ColumnAxis& axis = grid.axes[d];
    window.data[d] = axis.extent;
    window.out[d] = axis.windows;
    window.kernel[d] = axis.kernel;
    window.step[d] = axis.stride;
    window.dilate[d] = axis.dilate;
    window.pad[d] = axis.pad;
  }
  launch_cuda({"ops/spatial/columns.cuh", function, "SpatialColumnArguments"}, grid_of(c.output(0).size), arguments);
}

void gather_columns_cuda(KernelContext& c, const ColumnGrid& grid) {
  const Tensor& to = c.output(0);
  launch_columns(c, fmt::format("gather_columns<{}>", bits_name(to.dtype)), grid,
                 to.size / grid.elements() / grid.windows());
}

void sum_columns_cuda(KernelContext& c, const ColumnGrid& grid) {
  const Tensor& to = c.output(0);
  launch_columns(c, fmt::format("add_columns<{}, {}>", compute_name(to.dtype), element_name(to.dtype)), grid,
                 to.size / grid.area());
}

}  // namespace

void add_columns_cuda(KernelTable& table) {
  table.set_part(gather_columns, gather_columns_cuda);
  table.set_part(add_columns, sum_columns_cuda);
  table.set_own_kernels({"im2col", "col2im"});
}

}  // namespace headrace
