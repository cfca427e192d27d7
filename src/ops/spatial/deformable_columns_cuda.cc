#include <fmt/format.h>

#include <algorithm>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/sort/ordering.h"
#include "ops/spatial/deformable_columns.cuh"
#include "ops/spatial/deformable_columns.h"

namespace headrace {
namespace {

template <class Arguments>
void launch_deformed(const char* function, const char* name, DType dtype, int64_t elements,
                     const Arguments& arguments) {
  launch_cuda({"ops/spatial/deformable_columns.cuh",
               fmt::format("{}<{}, {}>", function, compute_name(dtype), element_name(dtype)), name},
              grid_of(elements), arguments);
}

// Images are input `first`.
device::DeformedArguments deformed_arguments(const KernelContext& c, const DeformableWindow& w, size_t first) {
  const Tensor& data = c.input(first);
  device::DeformedArguments arguments{.head = nullptr,
                                      .data = data.data,
                                      .offset = c.input(first + 1).data,
                                      .mask = c.input_count() > first + 2 ? c.input(first + 2).data : nullptr,
                                      .to = nullptr,
                                      .mask_to = nullptr,
                                      .groups = data.shape[0] * w.groups,
                                      .channels = data.shape[1] / w.groups,
                                      .height = data.shape[2],
                                      .width = data.shape[3],
                                      .windows = {},
                                      .kernel = {},
                                      .stride = {},
                                      .dilate = {},
                                      .pad = {}};
  std::ranges::copy(deformable_windows(c.name(), w, data.shape[2], data.shape[3]), arguments.windows);
  std::ranges::copy(w.kernel, arguments.kernel);
  std::ranges::copy(w.stride, arguments.stride);
  std::ranges::copy(w.dilate, arguments.dilate);
  std::ranges::copy(w.pad, arguments.pad);
  return arguments;
}

int64_t seen_of_group(const device::DeformedArguments& a) {
  return a.kernel[0] * a.kernel[1] * a.windows[0] * a.windows[1];
}

void see_deformed_cuda(KernelContext& c, const DeformableWindow& w) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  device::DeformedArguments arguments = deformed_arguments(c, w, 0);
  arguments.to = to.data;
  launch_deformed("see_deformed", "DeformedArguments", to.dtype, to.size, arguments);
}

void spread_to_data(KernelContext& c, device::DeformedArguments of) {
  const Tensor& to = c.output(0);
  fill(c, to, int64_t{0});
  if (to.size == 0 || c.input(0).size == 0) return;
  of.to = to.data;
  const int64_t shares = 4 * seen_of_group(of), count = of.groups * shares;
  const Shape shape{of.groups, shares};
  const Strides strides = contiguous_strides(shape);
  const auto integers = [&] { return Tensor{c.workspace<int64_t>(count), DType::kInt64, shape, strides, count}; };
  const Tensor places = integers(), sorted = integers(), order = integers();
  device::DeformedShareArguments arguments{
      of, places.as<int64_t>(), nullptr,
      c.workspace(static_cast<size_t>(count) * (to.dtype == DType::kFloat64 ? 8 : 4))};
  launch_deformed("shares_of_seen", "DeformedShareArguments", to.dtype, count / 4, arguments);
  select_first(c, places, {of.groups, shares, 1}, shares, true, &sorted, &order);
  arguments.places = sorted.as<int64_t>();
  arguments.order = order.as<int64_t>();
  launch_deformed("spread_seen", "DeformedShareArguments", to.dtype, count * of.channels, arguments);
}

void deformed_gradients_cuda(KernelContext& c, const DeformableWindow& w) {
  device::DeformedArguments arguments = deformed_arguments(c, w, 1);
  arguments.head = c.input(0).data;
  spread_to_data(c, arguments);
  arguments.to = c.output(1).data;
  if (c.output_count() > 2) arguments.mask_to = c.output(2).data;
  if (c.output(1).size == 0) return;
  launch_deformed("slopes_of_offsets", "DeformedArguments", c.output(1).dtype,
                  arguments.groups * seen_of_group(arguments), arguments);
}

}  // namespace

void add_deformable_columns_cuda(KernelTable& table) {
  table.set_part(see_deformed, see_deformed_cuda);
  table.set_part(deformed_gradients, deformed_gradients_cuda);
  table.set_own_kernels({"_deformable_columns", "_backward_deformable_columns", "_backward_modulated_columns"});
}

}  // namespace headrace
