#include <fmt/format.h>

#include "base/check.h"
#include "op/check_cuda.h"
#include "op/kernel_table.h"
#include "ops/creation/creation.h"
#include "ops/index/selection_cuda.h"
#include "ops/random/categories.h"
#include "ops/random/generator.h"
#include "ops/random/host_draws_cuda.h"
#include "ops/random/integer_draws.h"
#include "ops/random/integers.cuh"
#include "ops/sort/ordering.h"

namespace headrace {
namespace {

using device::FoundWeights;

constexpr const char* kIntegerHeader = "ops/random/integers.cuh";

void launch_integers(int64_t low, uint64_t range, uint64_t key, const Tensor& to) {
  const device::IntegerArguments arguments{to.data, to.size, low, range, key};
  launch_cuda({kIntegerHeader, fmt::format("draw_integers<{}>", element_name(to.dtype)), "IntegerArguments"},
              grid_of(to.size), arguments);
}

void draw_integers_cuda(KernelContext& c, int64_t low, uint64_t range, const Tensor& to) {
  if (to.size == 0) return;
  if (c.ticket() != kMtTicket) return launch_integers(low, range, c.ticket(), to);
  draw_on_host_later(c, {}, {&to, 1},
                     [low, range](KernelContext& late) { draw_integers(late, low, range, late.output(0)); });
}

void draw_indices_cuda(KernelContext& c, int64_t choices, const Tensor& to) {
  if (to.size == 0) return;
  if (c.ticket() != kMtTicket) return launch_integers(0, static_cast<uint64_t>(choices), c.ticket(), to);
  draw_on_host_later(c, {}, {&to, 1}, [choices](KernelContext& late) { draw_indices(late, choices, late.output(0)); });
}

void draw_order_cuda(KernelContext& c, const Tensor& to) {
  draw_on_host_later(c, {}, {&to, 1}, [](KernelContext& late) { draw_order(late, late.output(0)); });
}

void draw_different_cuda(KernelContext& c, int64_t choices, const Tensor& to) {
  draw_on_host_later(c, {}, {&to, 1},
                     [choices](KernelContext& late) { draw_different(late, choices, late.output(0)); });
}

void draw_candidates_cuda(KernelContext& c, int64_t range_max) {
  draw_on_host_later(c, {}, std::span(&c.output(0), 2),
                     [range_max](KernelContext& late) { draw_candidates(late, range_max); });
}

// --- by weights ------------------------------------------------------------------------------------------------------

const double* running_sums(KernelContext& c, const Tensor& weights, int64_t length) {
  const device::WeightArguments arguments{weights.data, c.workspace<double>(weights.size), weights.size / length,
                                          length};
  const bool is_long = length > 64;
  launch_cuda({kIntegerHeader, fmt::format("sum_{}_rows<{}>", is_long ? "long" : "short", element_name(weights.dtype)),
               "WeightArguments"},
              is_long ? KernelGrid{blocks_for(arguments.rows), device::kWeightThreads} : grid_of(arguments.rows),
              arguments);
  return arguments.sums;
}

// Calls look(FoundWeights) on a thread of the host when the stream has come to it; what it raises fails the work.
template <class Look>
void look_at_weights(KernelContext& c, const Tensor& weights, Look look) {
  const KernelGrid grid = check_grid(weights.size);
  auto* const found = c.workspace<FoundWeights>(grid.blocks);
  const device::WeightCheckArguments arguments{weights.data, found, weights.size};
  launch_cuda({kIntegerHeader, fmt::format("check_weights<{}>", element_name(weights.dtype)), "WeightCheckArguments"},
              grid, arguments);
  read_found(found, grid, [look](std::span<const FoundWeights> all) {
    const FoundWeights* const wrong = first_of(all);
    FoundWeights whole = wrong ? *wrong : FoundWeights{-1, 0, 0};
    whole.usable = 0;
    for (const FoundWeights& one : all) whole.usable += one.usable;
    look(whole);
  });
}

void raise_wrong_probabilities(KernelContext& c, const Tensor& p) {
  look_at_weights(c, p, [name = std::string(c.name())](const FoundWeights& found) {
    if (found.place >= 0) check_probability(name.c_str(), found.value);
  });
}

void launch_categories(const Tensor& weights, const device::CategoryArguments& arguments, const Tensor& to,
                       bool up_to) {
  launch_cuda({kIntegerHeader,
               fmt::format("draw_categories<{}, {}, {}>", element_name(to.dtype), element_name(weights.dtype), up_to),
               "CategoryArguments"},
              grid_of(to.size), arguments);
}

void draw_by_weights_cuda(KernelContext& c, const Tensor& weights, bool replace, const Tensor& to) {
  if (c.ticket() == kMtTicket)
    return draw_on_host_later(c, {&weights, 1}, {&to, 1}, [replace](KernelContext& late) {
      draw_by_weights(late, late.input(0), replace, late.output(0));
    });
  look_at_weights(c, weights, [name = std::string(c.name()), replace, wanted = to.size](const FoundWeights& found) {
    check_weights(name.c_str(), found.place < 0, found.usable, replace ? 0 : wanted);
  });
  if (to.size == 0) return;
  if (replace)
    return launch_categories(weights,
                             {.sums = running_sums(c, weights, weights.size),
                              .weights = weights.data,
                              .to = to.data,
                              .likelihoods = nullptr,
                              .count = to.size,
                              .per_row = to.size,
                              .length = weights.size,
                              .key = c.ticket()},
                             to, false);
  if (to.size > weights.size) return;  // which raises
  const Shape shape{weights.size};
  const Strides strides{1};
  const Tensor keys{c.workspace<double>(weights.size), DType::kFloat64, shape, strides, weights.size};
  const device::KeyArguments arguments{weights.data, keys.as<double>(), weights.size, c.ticket()};
  launch_cuda({kIntegerHeader, fmt::format("key_weights<{}>", element_name(weights.dtype)), "KeyArguments"},
              grid_of(weights.size), arguments);
  select_first(c, keys, {1, weights.size, 1}, to.size, false, nullptr, &to);
}

void draw_categories_cuda(KernelContext& c) {
  const Tensor &p = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  if (c.ticket() == kMtTicket)
    return draw_on_host_later(c, {&p, 1}, std::span(&to, c.output_count()),
                              [](KernelContext& late) { draw_categories(late); });
  const int64_t length = p.shape.back();
  raise_wrong_probabilities(c, p);
  launch_categories(p,
                    {.sums = running_sums(c, p, length),
                     .weights = p.data,
                     .to = to.data,
                     .likelihoods = c.output_count() > 1 ? c.output(1).data : nullptr,
                     .count = to.size,
                     .per_row = to.size / (p.size / length),
                     .length = length,
                     .key = c.ticket()},
                    to, true);
}

void count_categories_cuda(KernelContext& c, int64_t n) {
  const Tensor &p = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  if (c.ticket() == kMtTicket)
    return draw_on_host_later(c, {&p, 1}, {&to, 1}, [n](KernelContext& late) { count_categories(late, n); });
  const double* const sums = running_sums(c, p, p.size);
  raise_wrong_probabilities(c, p);
  read_on_host(sums + p.size - 1, sizeof(double), [name = std::string(c.name())](const void* bytes) {
    check_total(name.c_str(), *static_cast<const double*>(bytes));
  });
  fill(c, to, int64_t{0});
  if (n == 0) return;
  const device::TrialArguments arguments{
      sums, static_cast<unsigned long long*>(to.data), to.size / p.size, n, p.size, c.ticket()};
  launch_cuda({kIntegerHeader, "count_categories", "TrialArguments"}, grid_of(arguments.samples * n), arguments);
}

void category_gradients_cuda(KernelContext& c) {
  const Tensor &head = c.input(0), &p = c.input(1), &drawn = c.input(2), &to = c.output(0);
  if (to.size == 0) return;
  if (head.size == 0) return fill(c, to, int64_t{0});
  const int64_t length = p.shape.back();
  raise_outside(c, {drawn, IndexMode::kRaiseNegative, last_axis(p)}, length);
  const device::CategoryGradientArguments arguments{
      head.data, p.data, drawn.data, to.data, p.size, head.size / (p.size / length), length};
  launch_cuda(
      {kIntegerHeader, fmt::format("category_gradients<{}, {}>", element_name(p.dtype), element_name(drawn.dtype)),
       "CategoryGradientArguments"},
      grid_of(p.size), arguments);
}

}  // namespace

void add_integers_cuda(KernelTable& table) {
  table.set_part(draw_integers, draw_integers_cuda);
  table.set_part(draw_indices, draw_indices_cuda);
  table.set_part(draw_order, draw_order_cuda);
  table.set_part(draw_different, draw_different_cuda);
  table.set_part(draw_candidates, draw_candidates_cuda);
  table.set_part(draw_by_weights, draw_by_weights_cuda);
  table.set_part(draw_categories, draw_categories_cuda);
  table.set_part(count_categories, count_categories_cuda);
  table.set_part(category_gradients, category_gradients_cuda);
  table.set_own_kernels({"_random_randint", "_shuffle", "_npi_choice", "_sample_unique_zipfian", "_sample_multinomial",
                         "_sample_multinomial_back", "_npi_multinomial"});
}

}  // namespace headrace
