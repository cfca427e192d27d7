#include "ops/random/fill.h"

#include "op/kernel.h"
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

}  // namespace

template <class Real>
void fill_uniform(const KernelContext& context, Streams streams, Real* values, int64_t n, Real offset, Real factor) {
  if (context.ticket() != kMtTicket) {
    for_each_range(n, sizeof(Real) * 0.25, [&](int64_t first, int64_t count) {
      philox_uniform(context.ticket(), first, count, offset, factor, values + first);
    });
    return;
  }
  for_each_sample(context, streams, n, 4,
                  [&](auto& stream, int64_t i) { values[i] = offset + factor * uniform01<Real>(stream); });
}

template <class Real>
void fill_normal(const KernelContext& context, Streams streams, Real* values, int64_t n, Real offset, Real factor) {
  if (context.ticket() != kMtTicket) {
    for_each_range(n, sizeof(Real) * 0.5, [&](int64_t first, int64_t count) {
      philox_normal(context.ticket(), first, count, offset, factor, values + first);
    });
    return;
  }
  if (streams == Streams::kSequential) {
    std::mt19937& state = generators().states(streams).at(0);
    for (int64_t i = 0; i < n; i += 2) {
      NormalPair<Real> pair = normal_pair<Real>(state);
      values[i] = offset + factor * pair.first;
      if (i + 1 < n) values[i + 1] = offset + factor * pair.second;
    }
    return;
  }
  for_each_sample(context, streams, n, 15,
                  [&](auto& stream, int64_t i) { values[i] = offset + factor * normal01<Real>(stream); });
}

template void fill_uniform<float>(const KernelContext&, Streams, float*, int64_t, float, float);
template void fill_uniform<double>(const KernelContext&, Streams, double*, int64_t, double, double);
template void fill_normal<float>(const KernelContext&, Streams, float*, int64_t, float, float);
template void fill_normal<double>(const KernelContext&, Streams, double*, int64_t, double, double);

}  // namespace headrace
