#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/detection/anchors.cuh"
#include "ops/detection/anchors.h"

namespace headrace {
namespace {

void fill_anchors_cuda(KernelContext& c, const AnchorGrid& grid, const Tensor& output) {
  if (output.size == 0) return;
  const void* const sides = copy_to_device(c, std::as_bytes(std::span(grid.half_sides)));
  const device::AnchorArguments arguments{.half_sides = static_cast<const float*>(sides),
                                          .to = output.data,
                                          .count = output.size,
                                          .columns = grid.columns,
                                          .boxes = static_cast<int64_t>(grid.half_sides.size()),
                                          .clip = grid.clip,
                                          .first_y = grid.first_y,
                                          .first_x = grid.first_x,
                                          .down = grid.down,
                                          .right = grid.right};
  launch_cuda(
      {"ops/detection/anchors.cuh", fmt::format("fill_anchors<{}>", element_name(output.dtype)), "AnchorArguments"},
      grid_of(output.size), arguments);
}

}  // namespace

void add_anchors_cuda(KernelTable& table) {
  table.set_part(fill_anchors, fill_anchors_cuda);
  table.set_own_kernels({"_contrib_MultiBoxPrior"});
}

}  // namespace headrace
