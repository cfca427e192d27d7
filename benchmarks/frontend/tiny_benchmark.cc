// What does one tiny operation cost a C++ program? Each with its result array, finished when the call returns.
#include <benchmark/benchmark.h>

#include <headrace/headrace.hpp>

namespace headrace {
namespace {

void add_scalar(benchmark::State& state) {
  const NDArray x = nd::ones({2, 2});
  for (auto _ : state) benchmark::DoNotOptimize(x + 1);
}
BENCHMARK(add_scalar);

void multiply(benchmark::State& state) {
  const NDArray x = nd::ones({2, 2}), y = nd::ones({2, 2});
  for (auto _ : state) benchmark::DoNotOptimize(x * y);
}
BENCHMARK(multiply);

void record(benchmark::State& state) {
  NDArray x = nd::ones({2, 2});
  autograd::attach_grad(x);
  for (auto _ : state) {
    const autograd::RecordScope recording;
    benchmark::DoNotOptimize(x + 1);
  }
}
BENCHMARK(record);

}  // namespace
}  // namespace headrace
