#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/sort/ordering.h"
#include "ops/spatial/sampler.cuh"
#include "ops/spatial/sampler.h"

namespace headrace {
namespace {

template <class Arguments>
void launch_sampler(const char* function, const char* name, DType dtype, int64_t elements, const Arguments& arguments) {
  launch_cuda(
      {"ops/spatial/sampler.cuh", fmt::format("{}<{}, {}>", function, compute_name(dtype), element_name(dtype)), name},
      grid_of(elements), arguments);
}

device::SamplerArguments sampler_arguments(const Tensor& data, const Tensor& grid, const Tensor& to) {
  return {.head = nullptr,
          .data = data.data,
          .grid = grid.data,
          .to = to.data,
          .batch = data.shape[0],
          .channels = data.shape[1],
          .height = data.shape[2],
          .width = data.shape[3],
          .samples = grid.shape[2] * grid.shape[3]};
}

void sample_images_cuda(KernelContext& c) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  launch_sampler("sample_images", "SamplerArguments", to.dtype, to.size, sampler_arguments(c.input(0), c.input(1), to));
}

void spread_to_images(KernelContext& c, const device::SamplerArguments& of) {
  const Tensor &head = c.input(0), &to = c.output(0);
  fill(c, to, int64_t{0});
  if (head.size == 0 || to.size == 0) return;
  const Shape shape{of.batch, 4 * of.samples};
  const Strides strides = contiguous_strides(shape);
  const int64_t count = of.batch * 4 * of.samples;
  const auto integers = [&] { return Tensor{c.workspace<int64_t>(count), DType::kInt64, shape, strides, count}; };
  const Tensor places = integers(), sorted = integers(), order = integers();
  void* const weights = c.workspace(static_cast<size_t>(count) * (to.dtype == DType::kFloat64 ? 8 : 4));
  launch_sampler(
      "shares_of_elements", "SharesArguments", to.dtype, of.batch * of.samples,
      device::SharesArguments{of.grid, places.as<int64_t>(), weights, of.batch, of.height, of.width, of.samples});
  select_first(c, places, {of.batch, 4 * of.samples, 1}, 4 * of.samples, true, &sorted, &order);
  const device::SpreadArguments arguments{.head = head.data,
                                          .places = sorted.as<int64_t>(),
                                          .order = order.as<int64_t>(),
                                          .weights = weights,
                                          .to = to.data,
                                          .batch = of.batch,
                                          .channels = of.channels,
                                          .area = of.height * of.width,
                                          .samples = of.samples};
  launch_sampler("spread_shares", "SpreadArguments", to.dtype, count * of.channels, arguments);
}

void spread_samples_cuda(KernelContext& c) {
  device::SamplerArguments arguments = sampler_arguments(c.input(1), c.input(2), c.output(1));
  arguments.head = c.input(0).data;
  spread_to_images(c, arguments);
  if (c.output(1).size == 0) return;
  launch_sampler("slopes_of_grids", "SamplerArguments", c.output(1).dtype, arguments.batch * arguments.samples,
                 arguments);
}

}  // namespace

void add_sampler_cuda(KernelTable& table) {
  table.set_part(sample_images, sample_images_cuda);
  table.set_part(spread_samples, spread_samples_cuda);
  table.set_own_kernels({"BilinearSampler", "_backward_BilinearSampler"});
}

}  // namespace headrace
