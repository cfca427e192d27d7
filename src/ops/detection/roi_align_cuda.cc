#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "op/check_cuda.h"
#include "op/kernel_table.h"
#include "ops/creation/creation.h"
#include "ops/detection/regions.h"
#include "ops/detection/roi_align.cuh"
#include "ops/detection/roi_align.h"
#include "ops/detection/taps.h"

namespace headrace {
namespace {

constexpr const char* kAlignHeader = "ops/detection/roi_align.cuh";

// `more`: further arguments of the template.
std::string kernel_for(const char* function, DType dtype, const std::string& more = "") {
  return fmt::format("{}<{}, {}{}>", function, compute_name(dtype), element_name(dtype), more);
}

// Raises what the host raises for this region.
template <class T>
void check_region(const char* name, const double (&numbers)[5], const AlignAttrs& a) {
  T region[5];
  std::ranges::transform(numbers, region, [](double number) { return static_cast<T>(number); });
  const Reach<T> reach = reach_of(region, static_cast<T>(a.spatial_scale), a.aligned);
  check_reach(name, reach, a.aligned);
  samples_of(name, reach, std::array{a.pooled_size[0], a.pooled_size[1]}, a.sample_ratio);
}

// The regions as their samples need them. The work fails when the stream has come to it and one of them has too many.
void* measure_regions(KernelContext& c, const Tensor& regions, int64_t images, const AlignAttrs& a) {
  const bool is_double = regions.dtype == DType::kFloat64;
  const size_t each = is_double ? sizeof(device::Measured<double>) : sizeof(device::Measured<float>);
  const int64_t count = regions.shape[0];
  const KernelGrid grid = check_grid(count);
  const device::MeasureArguments arguments{.regions = regions.data,
                                           .measured = c.workspace(static_cast<size_t>(count) * each),
                                           .found = c.workspace<device::WrongRegion>(grid.blocks),
                                           .count = count,
                                           .images = images,
                                           .cells = {a.pooled_size[0], a.pooled_size[1]},
                                           .ratio = a.sample_ratio,
                                           .aligned = a.aligned,
                                           .scale = a.spatial_scale};
  launch_cuda({kAlignHeader, kernel_for("measure_regions", regions.dtype), "MeasureArguments"}, grid, arguments);
  raise_found(arguments.found, grid, [a, is_double, name = std::string(c.name())](const device::WrongRegion& wrong) {
    (is_double ? check_region<double> : check_region<float>)(name.c_str(), wrong.numbers, a);
  });
  return arguments.measured;
}

// `threads`: how many have something to do.
void launch_align(KernelContext& c, const std::string& kernel, int64_t threads, const RegionShapes& s,
                  const AlignAttrs& a) {
  const device::AlignArguments arguments{.from = c.input(0).data,
                                         .measured = measure_regions(c, c.input(1), s.images, a),
                                         .to = c.output(0).data,
                                         .count = c.output(0).size,
                                         .regions = s.regions,
                                         .channels = s.channels,
                                         .height = s.height,
                                         .width = s.width,
                                         .grid_height = s.grid_height,
                                         .grid_width = s.grid_width,
                                         .own_channels = a.position_sensitive};
  launch_cuda({kAlignHeader, kernel, "AlignArguments"}, grid_of(threads), arguments);
}

void align_rois_cuda(KernelContext& c, const AlignAttrs& a) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  if (c.input(0).size == 0) return fill(c, to, int64_t{0});
  launch_align(c, kernel_for("align_rois", to.dtype), to.size, {c.input(0).shape, to.shape}, a);
}

void spread_rois_cuda(KernelContext& c, const AlignAttrs& a) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  if (c.input(0).size == 0) return fill(c, to, int64_t{0});
  constexpr int64_t kPlanes = 16;
  const int64_t planes = a.position_sensitive ? 1 : kPlanes;
  launch_align(c, kernel_for("spread_rois", to.dtype, fmt::format(", {}", planes)), (to.size + planes - 1) / planes,
               {to.shape, c.input(0).shape}, a);
}

}  // namespace

void add_roi_align_cuda(KernelTable& table) {
  table.set_part(align_rois, align_rois_cuda);
  table.set_part(spread_rois, spread_rois_cuda);
  table.set_own_kernels({"_contrib_ROIAlign", "_backward_ROIAlign"});
}

}  // namespace headrace
