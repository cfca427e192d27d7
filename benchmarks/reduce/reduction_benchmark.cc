// Do reductions run at the speed of memory? Sum and maximum over all and either axis, as operators, beside reading the
// same memory once in a plain loop.
#include <benchmark/benchmark.h>

#include <vector>

#include "op/invoke.h"

namespace headrace {
namespace {

constexpr int64_t kSide = 4096;

const NDArray& matrix() {
  static const NDArray& array = *new NDArray([] {
    std::vector<float> values(kSide * kSide);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) / 500 - 1;
    return NDArray::from_host(values.data(), {kSide, kSide}, DType::kFloat32);
  }());
  return array;
}

void count(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * kSide * kSide * static_cast<int64_t>(sizeof(float)));
}

// Range 0: the axis, or -1 for all.
void reduce(benchmark::State& state, const char* name) {
  const OpDef& op = find_op(name);
  const AttrsPtr attrs = state.range(0) < 0 ? op.default_attrs : attrs_of(op, {{"axis", Shape{state.range(0)}}});
  for (auto _ : state) call(op, attrs, {matrix()}).wait_to_read();
  count(state);
}
BENCHMARK_CAPTURE(reduce, sum, "_np_sum")->Arg(-1)->Arg(0)->Arg(1)->UseRealTime();
BENCHMARK_CAPTURE(reduce, max, "_np_max")->Arg(-1)->Arg(0)->Arg(1)->UseRealTime();
BENCHMARK_CAPTURE(reduce, norm, "_euclidean_norm")->Arg(-1)->Arg(0)->Arg(1)->UseRealTime();

void read_once(benchmark::State& state) {
  std::vector<float> values(kSide * kSide, 1.0f);
  for (auto _ : state) {
    float lanes[64] = {};
    for (size_t i = 0; i < values.size(); i += 64)
      for (size_t k = 0; k < 64; ++k) lanes[k] += values[i + k];
    benchmark::DoNotOptimize(lanes);
  }
  count(state);
}
BENCHMARK(read_once)->UseRealTime();

}  // namespace
}  // namespace headrace
