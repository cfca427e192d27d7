#include <fmt/format.h>

#include <algorithm>

#include "op/check_cuda.h"
#include "op/kernel_table.h"
#include "ops/random/draw.cuh"
#include "ops/random/draw.h"
#include "ops/random/generator.h"
#include "ops/random/host_draws_cuda.h"

namespace headrace {
namespace {

constexpr const char* kDrawHeader = "ops/random/draw.cuh";

std::span<const Tensor> inputs_of(const KernelContext& c) {
  return c.input_count() > 0 ? std::span(&c.input(0), c.input_count()) : std::span<const Tensor>();
}

// The work fails when the stream has come to it and the distribution has not all parameters.
void raise_wrong_parameters(KernelContext& c, const Draws& draws, const device::ParameterArrays& parameters,
                            const std::string& kinds) {
  const KernelGrid grid = check_grid(c.input(0).size);
  auto* const found = c.workspace<device::WrongParameters>(grid.blocks);
  const device::ParameterCheckArguments arguments{parameters, found, c.input(0).size};
  launch_cuda({kDrawHeader,
               fmt::format("find_wrong_parameters<static_cast<Distribution>({}), {}, {}>",
                           static_cast<int>(draws.distribution.kind), draws.as_np, kinds),
               "ParameterCheckArguments"},
              grid, arguments);
  raise_found(found, grid,
              [&distribution = draws.distribution, as_np = draws.as_np](const device::WrongParameters& wrong) {
                check_parameters(distribution, wrong.values, as_np);
              });
}

void draw_samples_cuda(KernelContext& c, const Draws& draws) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  if (c.ticket() == kMtTicket)
    return draw_on_host_later(c, inputs_of(c), {&to, 1},
                              [&distribution = draws.distribution, as_np = draws.as_np,
                               numbers = std::vector(draws.numbers.begin(), draws.numbers.end())](KernelContext& late) {
                                draw_samples(late, {distribution, numbers, as_np});
                              });
  device::DrawArguments arguments{.to = to.data, .count = to.size, .per_set = to.size, .key = c.ticket()};
  std::string types[2] = {"double", "double"};
  for (size_t k = 0; k < c.input_count(); ++k) {
    arguments.parameters.arrays[k] = c.input(k).data;
    types[k] = element_name(c.input(k).dtype);
  }
  const std::string kinds = fmt::format("{}, {}", types[0], types[1]);
  if (c.input_count() > 0) {
    arguments.per_set = to.size / c.input(0).size;
    raise_wrong_parameters(c, draws, arguments.parameters, kinds);
  } else {
    check_parameters(draws.distribution, draws.numbers.data(), draws.as_np);
    std::ranges::copy(draws.numbers, arguments.parameters.numbers);
  }
  launch_cuda({kDrawHeader,
               fmt::format("draw_samples<static_cast<Distribution>({}), {}, {}>",
                           static_cast<int>(draws.distribution.kind), element_name(to.dtype), kinds),
               "DrawArguments"},
              grid_of(to.size), arguments);
}

}  // namespace

void add_draw_cuda(KernelTable& table) {
  table.set_part(draw_samples, draw_samples_cuda);
  table.set_own_kernels({"_draw"});
}

}  // namespace headrace
