#include "ops/random/fill.h"

#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "ops/random/mersenne_fill.h"
#include "ops/random/philox_fill.h"
#include "ops/random/sampling.h"

namespace headrace {
namespace {

// Calls fill(first, count) for ranges of whole tiles that cover [0, n).
template <class Fill>
void for_each_range(int64_t n, double ns_per_element, const Fill& fill) {
  int64_t tiles = (n + kPhiloxTile - 1) / kPhiloxTile;
  parallel_for(tiles, 64, static_cast<double>(n) * ns_per_element, [&](int64_t begin, int64_t end) {
    fill(begin * kPhiloxTile, std::min(n, end * kPhiloxTile) - begin * kPhiloxTile);
  });
}

// Draws n values of mt19937 by turns(state, first, count), which make those from `first` on.
template <class Turns, class Make>
void by_turns(Streams streams, int64_t n, double ns_per_element, const Make& make) {
  if (streams == Streams::kParallel) {
    for_each_run(n, ns_per_element, [&](MersenneTwister& state, int64_t begin, int64_t end) {
      make(state, begin, end - begin).take_all();
    });
    return;
  }
  Turns turns = make(generators().states(streams).at(0), 0, n);
  take_turns(n, turns.values_per_turn(), static_cast<double>(n) * ns_per_element, [&] { return turns.take(); });
}

}  // namespace

template <class Real>
void fill_uniform(const KernelContext& context, Streams streams, Real* values, int64_t n, Real offset, Real factor) {
  if (context.ticket() != kMtTicket) {
    for_each_range(n, sizeof(Real) * 0.07, [&](int64_t first, int64_t count) {
      philox_uniform(context.ticket(), first, count, offset, factor, values + first);
    });
    return;
  }
  by_turns<UniformTurns<Real>>(streams, n, sizeof(Real) * 0.06,
                               [&](MersenneTwister& state, int64_t first, int64_t count) {
                                 return UniformTurns<Real>(state, values + first, count, offset, factor);
                               });
}

template <class Real>
void fill_normal(const KernelContext& context, Streams streams, Real* values, int64_t n, Real offset, Real factor) {
  if (context.ticket() != kMtTicket) {
    for_each_range(n, sizeof(Real) * 0.15, [&](int64_t first, int64_t count) {
      philox_normal(context.ticket(), first, count, offset, factor, values + first);
    });
    return;
  }
  // MXNet's np takes both normals of a pair, its nd one.
  using Turns = NormalTurns<Real>;
  const bool is_np = streams == Streams::kSequential;
  const auto use = is_np ? Turns::Use::kBothOfPair : Turns::Use::kFirstOfPair;
  by_turns<Turns>(streams, n, (is_np ? 1 : 2) * sizeof(Real) * 0.4,
                  [&](MersenneTwister& state, int64_t first, int64_t count) {
                    return Turns(state, use, values + first, count, offset, factor);
                  });
}

template void fill_uniform<float>(const KernelContext&, Streams, float*, int64_t, float, float);
template void fill_uniform<double>(const KernelContext&, Streams, double*, int64_t, double, double);
template void fill_normal<float>(const KernelContext&, Streams, float*, int64_t, float, float);
template void fill_normal<double>(const KernelContext&, Streams, double*, int64_t, double, double);

namespace {

template <class Real>
void draw_in(KernelContext& c, const Variates& v, DType dtype, const Tensor& out) {
  const auto offset = static_cast<Real>(v.offset), factor = static_cast<Real>(v.factor);
  const bool in_place = out.dtype == dtype;
  Real* const values = in_place ? out.as<Real>() : c.workspace<Real>(out.size);
  if (v.kind == VariateKind::kUniform)
    fill_uniform(c, v.streams, values, out.size, offset, factor);
  else
    fill_normal(c, v.streams, values, out.size, offset, factor);
  if (!in_place) store_function(compute_type_of(dtype), out.dtype)(values, out.data, 1, out.size);
}

void draw_on_host(KernelContext& c, const Variates& variates, const Tensor& out) {
  if (variates.in_double)
    draw_in<double>(c, variates, DType::kFloat64, out);
  else
    draw_in<float>(c, variates, DType::kFloat32, out);
}

constexpr double kNsPerFlag = 0.2;

void draw_flags_by_doubles(KernelContext& c, const Tensor& flags, float bound) {
  double* const values = c.workspace<double>(flags.size);
  fill_uniform(c, Streams::kParallel, values, flags.size, 0.0, 1.0);
  parallel_for(flags.size, 1 << 14, static_cast<double>(flags.size) * kNsPerFlag, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) flags.as<uint8_t>()[i] = static_cast<float>(values[i]) <= bound;
  });
}

void draw_flags_on_host(KernelContext& c, const Tensor& flags, float bound, bool in_double) {
  uint8_t* const to = flags.as<uint8_t>();
  if (c.ticket() != kMtTicket) {
    for_each_range(flags.size, kNsPerFlag,
                   [&](int64_t first, int64_t count) { philox_below(c.ticket(), first, count, bound, to + first); });
    return;
  }
  if (in_double) return draw_flags_by_doubles(c, flags, bound);
  const Trials trials(bound);
  for_each_run(flags.size, kNsPerFlag, [&](MersenneTwister& state, int64_t begin, int64_t end) {
    trials.draw(state, end - begin, to + begin);
  });
}

}  // namespace

const decltype(draw_variates) draw_variates{"draw_variates", draw_on_host};
const decltype(draw_flags) draw_flags{"draw_flags", draw_flags_on_host};

}  // namespace headrace
