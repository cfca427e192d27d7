// What does the way through the operator add to a matrix product? Square matrices multiplied by the operator `dot`, and
// by oneDNN called alone on memory of its own with all cores. For pairs that saw the same machine, run with
// --benchmark_enable_random_interleaving=true --benchmark_repetitions=9.
#include <benchmark/benchmark.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "op/invoke.h"

namespace headrace {
namespace {

using dnnl::memory;

NDArray matrix(int64_t n, DType dtype) {
  std::vector<float> values(static_cast<size_t>(n * n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) / 500 - 1;
  return cast_to(NDArray::from_host(values.data(), {n, n}, DType::kFloat32), dtype);
}

void count(benchmark::State& state, int64_t n) {
  state.counters["flops"] =
      benchmark::Counter(2.0 * static_cast<double>(n * n * n * state.iterations()), benchmark::Counter::kIsRate);
}

void headrace_dot(benchmark::State& state, DType dtype) {
  const int64_t n = state.range(0);
  const NDArray a = matrix(n, dtype), b = matrix(n, dtype);
  const OpDef& op = find_op("dot");
  for (auto _ : state) call(op, op.default_attrs, {a, b}).wait_to_read();
  count(state, n);
}

void onednn_alone(benchmark::State& state, memory::data_type type) {
  const int64_t n = state.range(0);
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc desc({n, n}, type, memory::format_tag::ab);
  memory a(desc, engine), b(desc, engine), c(desc, engine);
  std::fill_n(static_cast<char*>(a.get_data_handle()), desc.get_size(), '\1');
  std::fill_n(static_cast<char*>(b.get_data_handle()), desc.get_size(), '\1');
  const dnnl::matmul matmul(dnnl::matmul::primitive_desc(engine, desc, desc, desc));
  const std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}};
  for (auto _ : state) {
    matmul.execute(stream, arguments);
    stream.wait();
  }
  count(state, n);
}

void sizes(benchmark::internal::Benchmark* benchmark) { benchmark->RangeMultiplier(2)->Range(64, 2048)->UseRealTime(); }
BENCHMARK_CAPTURE(headrace_dot, float32, DType::kFloat32)->Apply(sizes);
BENCHMARK_CAPTURE(onednn_alone, float32, memory::data_type::f32)->Apply(sizes);
BENCHMARK_CAPTURE(headrace_dot, bfloat16, DType::kBfloat16)->Apply(sizes);
BENCHMARK_CAPTURE(onednn_alone, bfloat16, memory::data_type::bf16)->Apply(sizes);

}  // namespace
}  // namespace headrace
