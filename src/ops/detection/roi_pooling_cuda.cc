#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/detection/regions.h"
#include "ops/detection/roi_pooling.cuh"
#include "ops/detection/roi_pooling.h"
#include "ops/sort/ordering.h"

namespace headrace {
namespace {

constexpr const char* kRegionHeader = "ops/detection/roi_pooling.cuh";

std::string kernel_of(const char* function, DType dtype) {
  return fmt::format("{}<{}, {}>", function, compute_name(dtype), element_name(dtype));
}

void pool_regions_cuda(KernelContext& c, double scale) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  const RegionShapes s(c.input(0).shape, to.shape);
  const device::RegionPoolArguments arguments{.data = c.input(0).data,
                                              .regions = c.input(1).data,
                                              .to = to.data,
                                              .record = c.output(1).as<int64_t>(),
                                              .count = to.size,
                                              .images = s.images,
                                              .channels = s.channels,
                                              .height = s.height,
                                              .width = s.width,
                                              .grid_height = s.grid_height,
                                              .grid_width = s.grid_width,
                                              .scale = scale};
  launch_cuda({kRegionHeader, kernel_of("pool_regions", to.dtype), "RegionPoolArguments"}, grid_of(to.size), arguments);
}

void add_to_recorded_cuda(KernelContext& c) {
  const Tensor &from = c.input(0), &to = c.output(0);
  fill(c, to, int64_t{0});
  if (from.size == 0 || to.size == 0) return;
  const Shape shape{from.size};
  const Strides strides{1};
  const auto integers = [&](void* data) { return Tensor{data, DType::kInt64, shape, strides, from.size}; };
  const Tensor record = integers(c.input(1).data), places = integers(c.workspace<int64_t>(from.size)),
               order = integers(c.workspace<int64_t>(from.size));
  select_first(c, record, {1, from.size, 1}, from.size, true, &places, &order);
  const device::RecordArguments arguments{from.data, places.as<int64_t>(), order.as<int64_t>(), to.data, from.size,
                                          to.size};
  launch_cuda({kRegionHeader, kernel_of("add_to_recorded", to.dtype), "RecordArguments"}, grid_of(from.size),
              arguments);
}

}  // namespace

void add_roi_pooling_cuda(KernelTable& table) {
  table.set_part(pool_regions, pool_regions_cuda);
  table.set_part(add_to_recorded, add_to_recorded_cuda);
  table.set_own_kernels({"ROIPooling", "_backward_ROIPooling"});
}

}  // namespace headrace
