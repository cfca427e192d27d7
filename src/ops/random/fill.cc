#include "ops/random/fill.h"

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

void fill_below(const KernelContext& context, uint8_t* flags, int64_t n, float bound) {
  constexpr double kNsPerFlag = 0.2;
  if (context.ticket() != kMtTicket) {
    for_each_range(n, kNsPerFlag, [&](int64_t first, int64_t count) {
      philox_below(context.ticket(), first, count, bound, flags + first);
    });
    return;
  }
  const Trials trials(bound);
  for_each_run(n, kNsPerFlag, [&](MersenneTwister& state, int64_t begin, int64_t end) {
    trials.draw(state, end - begin, flags + begin);
  });
}

template void fill_uniform<float>(const KernelContext&, Streams, float*, int64_t, float, float);
template void fill_uniform<double>(const KernelContext&, Streams, double*, int64_t, double, double);
template void fill_normal<float>(const KernelContext&, Streams, float*, int64_t, float, float);
template void fill_normal<double>(const KernelContext&, Streams, double*, int64_t, double, double);

}  // namespace headrace
