#include "ops/random/fill.h"

#include "ops/random/sampling.h"

namespace headrace {

template <class Real>
void fill_uniform(const KernelContext& context, Streams streams, Real* values, int64_t n) {
  for_each_sample(context, streams, n, 4, [&](auto& stream, int64_t i) { values[i] = uniform01<Real>(stream); });
}

template <class Real>
void fill_normal(const KernelContext& context, Streams streams, Real* values, int64_t n) {
  if (context.ticket() == kMtTicket && streams == Streams::kSequential) {
    std::mt19937& state = generators().states(streams).at(0);
    for (int64_t i = 0; i < n; i += 2) {
      NormalPair<Real> pair = normal_pair<Real>(state);
      values[i] = pair.first;
      if (i + 1 < n) values[i + 1] = pair.second;
    }
    return;
  }
  for_each_sample(context, streams, n, 15, [&](auto& stream, int64_t i) { values[i] = normal01<Real>(stream); });
}

template void fill_uniform<float>(const KernelContext&, Streams, float*, int64_t);
template void fill_uniform<double>(const KernelContext&, Streams, double*, int64_t);
template void fill_normal<float>(const KernelContext&, Streams, float*, int64_t);
template void fill_normal<double>(const KernelContext&, Streams, double*, int64_t);

}  // namespace headrace
