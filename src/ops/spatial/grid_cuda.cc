#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/spatial/grid.cuh"
#include "ops/spatial/grid.h"

namespace headrace {
namespace {

void make_grids_cuda(KernelContext& c, bool is_affine, bool is_back) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const Shape& grid = is_back ? from.shape : to.shape;
  const device::GridArguments arguments{from.data, to.data, 2 * grid[0], grid[2], grid[3], !is_back};
  const bool adds_up = is_affine && is_back;
  const char* const function = adds_up ? "affine_gradients" : is_affine ? "affine_grids" : "warped_grids";
  launch_cuda({"ops/spatial/grid.cuh",
               fmt::format("{}<{}, {}>", function, compute_name(to.dtype), element_name(to.dtype)), "GridArguments"},
              adds_up ? KernelGrid{blocks_for(arguments.planes), device::kGridThreads} : grid_of(to.size), arguments);
}

}  // namespace

void add_grid_cuda(KernelTable& table) {
  table.set_part(make_grids, make_grids_cuda);
  table.set_own_kernels({"GridGenerator", "_backward_GridGenerator"});
}

}  // namespace headrace
