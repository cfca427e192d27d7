#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/random/fill.cuh"
#include "ops/random/fill.h"
#include "ops/random/host_draws_cuda.h"

namespace headrace {
namespace {

constexpr const char* kFillHeader = "ops/random/fill.cuh";

// How many counters so many numbers take, about.
int64_t counters_for(int64_t count, size_t number_size) {
  const auto of_counter = static_cast<int64_t>(device::kCounterBytes / number_size);
  return (count + of_counter - 1) / of_counter;
}

void draw_variates_cuda(KernelContext& c, const Variates& v, const Tensor& output) {
  if (output.size == 0) return;
  if (c.ticket() == kMtTicket)
    return draw_on_host_later(c, {}, {&output, 1},
                              [v](KernelContext& late) { draw_variates(late, v, late.output(0)); });
  const device::VariateArguments arguments{output.data, output.size, c.ticket(), v.offset, v.factor};
  launch_cuda({kFillHeader,
               fmt::format("draw_variates<{}, {}, {}>", v.in_double ? "double" : "float", element_name(output.dtype),
                           v.kind == VariateKind::kNormal),
               "VariateArguments"},
              grid_of(counters_for(output.size, v.in_double ? sizeof(double) : sizeof(float))), arguments);
}

void draw_flags_cuda(KernelContext& c, const Tensor& flags, float bound, bool in_double) {
  if (flags.size == 0) return;
  if (c.ticket() == kMtTicket)
    return draw_on_host_later(c, {}, {&flags, 1}, [bound, in_double](KernelContext& late) {
      draw_flags(late, late.output(0), bound, in_double);
    });
  const float limit = std::ceil(std::clamp(bound, 0.0F, 1.0F) * 0x1p24F);
  const device::FlagArguments arguments{flags.data, flags.size, c.ticket(), static_cast<int64_t>(limit)};
  launch_cuda({kFillHeader, "draw_flags", "FlagArguments"}, grid_of(counters_for(flags.size, sizeof(float))),
              arguments);
}

}  // namespace

void add_fill_cuda(KernelTable& table) {
  table.set_part(draw_variates, draw_variates_cuda);
  table.set_part(draw_flags, draw_flags_cuda);
  table.set_own_kernels({"_random_uniform", "_random_normal", "_np_uniform", "_np_normal", "_dropout_mask"});
}

}  // namespace headrace
