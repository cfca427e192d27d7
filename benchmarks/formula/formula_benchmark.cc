// How close does a compiled formula come to the loop one would write by hand? Each formula beside its hand-written
// loop (one pass, as the compiler vectorises it) and, for chains, beside one pass per operation. One thread.
#include <benchmark/benchmark.h>

#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "op/formula/run.h"

namespace headrace {
namespace {

enum class Question { kAddOne, kExp, kChain };

// tanh(x * 2 + 1) * 0.5 + x: five operations.
Formula formula_of(Question question) {
  const Expr x = input(0);
  switch (question) {
    case Question::kAddOne:
      return {1, 0, {x + 1}};
    case Question::kExp:
      return {1, 0, {exp(x)}};
    case Question::kChain:
      return {1, 0, {tanh(x * 2 + 1) * 0.5 + x}};
  }
  return {};
}

// Memory as the library's allocator gives it: aligned to huge pages where it is large.
class Floats {
 public:
  explicit Floats(int64_t n) {
    const size_t alignment = n * sizeof(float) >= kHugePage ? kHugePage : 64;
    const size_t bytes = (n * sizeof(float) + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<float*>(std::aligned_alloc(alignment, bytes)));
    if (alignment == kHugePage) madvise(data_.get(), bytes, MADV_HUGEPAGE);
    for (int64_t i = 0; i < n; ++i) data_[i] = static_cast<float>(i % 1000) / 500 - 1;
  }
  float* data() { return data_.get(); }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };
  std::unique_ptr<float[], Free> data_;
};

struct Arrays {
  explicit Arrays(int64_t n) : in(n), out(n) {}
  Floats in, out;
};

void count(benchmark::State& state) {
  state.counters["elements/s"] = benchmark::Counter(
      static_cast<double>(state.range(0)) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void run_formula(benchmark::State& state, const Program& program, Arrays& arrays) {
  const int64_t n = state.range(0), stride = 1;
  const Operand in{arrays.in.data(), DType::kFloat32, &stride}, out{arrays.out.data(), DType::kFloat32, &stride};
  const Shape space{n};
  for (auto _ : state) run(program, space, {&in, 1}, {&out, 1}, {});
  count(state);
}

void BM_Formula(benchmark::State& state, Question question) {
  Arrays arrays(state.range(0));
  run_formula(state, Program(formula_of(question), ComputeType::kFloat32), arrays);
}

template <class F>
void loop(benchmark::State& state, F f) {
  Arrays arrays(state.range(0));
  for (auto _ : state) {
    float* out = arrays.out.data();
    const float* in = arrays.in.data();
    for (int64_t i = 0; i < state.range(0); ++i) out[i] = f(in[i]);
    benchmark::ClobberMemory();
  }
  count(state);
}

void BM_LoopAddOne(benchmark::State& state) {
  loop(state, [](float x) { return x + 1; });
}
void BM_LoopExp(benchmark::State& state) {
  loop(state, [](float x) { return std::exp(x); });
}
void BM_LoopChain(benchmark::State& state) {
  loop(state, [](float x) { return std::tanh(x * 2 + 1) * 0.5f + x; });
}

// The chain as an eager framework runs it: one program, and one pass over memory, per operation.
void BM_OnePassPerOperation(benchmark::State& state) {
  const int64_t n = state.range(0), stride = 1;
  Arrays arrays(n);
  const Expr x = input(0), y = input(1);
  const Program twice({1, 0, {x * 2}}, ComputeType::kFloat32), plus_one({1, 0, {x + 1}}, ComputeType::kFloat32),
      squash({1, 0, {tanh(x)}}, ComputeType::kFloat32), half({1, 0, {x * 0.5}}, ComputeType::kFloat32),
      sum({2, 0, {x + y}}, ComputeType::kFloat32);
  const Shape space{n};
  const Operand in{arrays.in.data(), DType::kFloat32, &stride}, out{arrays.out.data(), DType::kFloat32, &stride};
  const Operand both[] = {out, in};
  for (auto _ : state) {
    run(twice, space, {&in, 1}, {&out, 1}, {});
    for (const Program* program : {&plus_one, &squash, &half}) run(*program, space, {&out, 1}, {&out, 1}, {});
    run(sum, space, both, {&out, 1}, {});
  }
  count(state);
}

// A bias added to rows, and an update of four arrays at once, which no single loop of a library offers.
void BM_BiasAdd(benchmark::State& state) {
  const int64_t columns = 256, rows = state.range(0) / columns;
  Arrays arrays(rows * columns);
  std::vector<float> bias(columns, 0.5f);
  const Program program({2, 0, {max(input(0) + input(1), 0)}}, ComputeType::kFloat32);
  const int64_t dense[] = {columns, 1}, row[] = {0, 1};
  const Operand in[] = {{arrays.in.data(), DType::kFloat32, dense}, {bias.data(), DType::kFloat32, row}};
  const Operand out{arrays.out.data(), DType::kFloat32, dense};
  for (auto _ : state) run(program, Shape{rows, columns}, in, {&out, 1}, {});
  count(state);
}

void BM_Adam(benchmark::State& state) {
  const int64_t n = state.range(0), stride = 1;
  const Expr w = input(0), g = input(1), m = input(2), v = input(3), rate = parameter(0);
  const Expr mean = 0.9 * m + 0.1 * g, variance = 0.999 * v + 0.001 * square(g);
  const Program program({4, 1, {w - rate * mean / (sqrt(variance) + 1e-8), mean, variance}}, ComputeType::kFloat32);
  Floats arrays[] = {Floats(n), Floats(n), Floats(n), Floats(n)};
  Operand operands[4];
  for (int i = 0; i < 4; ++i) operands[i] = {arrays[i].data(), DType::kFloat32, &stride};
  const Operand outputs[] = {operands[0], operands[2], operands[3]};
  const double learning_rate = 1e-3;
  for (auto _ : state) run(program, Shape{n}, operands, outputs, {&learning_rate, 1});
  count(state);
}

void BM_TinyAddParameter(benchmark::State& state) {
  const int64_t n = state.range(0), stride = 1;
  Arrays arrays(n);
  const Program program({1, 1, {input(0) + parameter(0)}}, ComputeType::kFloat32);
  const Operand in{arrays.in.data(), DType::kFloat32, &stride}, out{arrays.out.data(), DType::kFloat32, &stride};
  const double one = 1;
  for (auto _ : state) run(program, Shape{n}, {&in, 1}, {&out, 1}, {&one, 1});
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t n : {int64_t{1} << 10, int64_t{1} << 16, int64_t{1} << 24}) benchmark->Arg(n);
}

BENCHMARK_CAPTURE(BM_Formula, add_one, Question::kAddOne)->Apply(sizes);
BENCHMARK(BM_LoopAddOne)->Apply(sizes);
BENCHMARK_CAPTURE(BM_Formula, exp, Question::kExp)->Apply(sizes);
BENCHMARK(BM_LoopExp)->Apply(sizes);
BENCHMARK_CAPTURE(BM_Formula, chain, Question::kChain)->Apply(sizes);
BENCHMARK(BM_OnePassPerOperation)->Apply(sizes);
BENCHMARK(BM_LoopChain)->Apply(sizes);
BENCHMARK(BM_BiasAdd)->Apply(sizes);
BENCHMARK(BM_Adam)->Apply(sizes);
BENCHMARK(BM_TinyAddParameter)->Arg(1)->Arg(10)->Arg(64);

}  // namespace
}  // namespace headrace
