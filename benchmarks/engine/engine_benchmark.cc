// What does the engine itself cost? Empty tasks in the situations that programs meet. Run it alone on the machine.
#include <benchmark/benchmark.h>

#include <array>
#include <thread>
#include <vector>

#include "device/registry.h"
#include "engine/engine.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

constexpr double kCheap = 50, kDear = 3000;
constexpr int kVars = 32;

Config config_with(int workers) {
  Config config;
  config.workers = workers;
  return config;
}

// One read and one write over 32 Vars, like a chain of element-wise operations.
struct Pattern {
  std::vector<Var> vars = std::vector<Var>(kVars);
  size_t next = 0;
  std::array<Var*, 1> reads{}, writes{};
  TaskSpec spec(double cost) {
    next = (next + 1) % kVars;
    reads[0] = &vars[next];
    writes[0] = &vars[(next * 7 + 3) % kVars];
    return {.name = "empty", .reads = reads, .writes = writes, .cost_ns = cost};
  }
};

void CallerRuns(benchmark::State& state) {
  Engine engine(config_with(1));
  Pattern pattern;
  int64_t runs = 0;
  for (auto _ : state) engine.push(pattern.spec(kCheap), [&runs] { ++runs; });
  benchmark::DoNotOptimize(runs);
}
BENCHMARK(CallerRuns);

void CallerRunsTraced(benchmark::State& state) {
  Engine engine(config_with(1));
  Pattern pattern;
  int64_t runs = 0;
  timeline::start();
  for (auto _ : state) engine.push(pattern.spec(kCheap), [&runs] { ++runs; });
  timeline::stop();
  benchmark::DoNotOptimize(runs);
}
BENCHMARK(CallerRunsTraced);

void Serial(benchmark::State& state) {
  Config config;
  config.serial_engine = true;
  Engine engine(config);
  Pattern pattern;
  int64_t runs = 0;
  for (auto _ : state) engine.push(pattern.spec(kCheap), [&runs] { ++runs; });
}
BENCHMARK(Serial);

// Registered, run and retired by one thread: pushes batches of dear tasks and runs them while waiting for all.
void registered_one_thread(benchmark::State& state) {
  Config config = config_with(1);
  config.spin_us = 1'000'000;  // the batch is never worth a wake-up, so no worker ever starts
  Engine engine(config);
  Pattern pattern;
  int64_t runs = 0;
  constexpr int kBatch = 14;
  for (auto _ : state) {
    for (int i = 0; i < kBatch; ++i) engine.push(pattern.spec(kDear), [&runs] { ++runs; });
    engine.wait_all();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void RegisteredOneThread(benchmark::State& state) { registered_one_thread(state); }
BENCHMARK(RegisteredOneThread);

void RegisteredOneThreadTraced(benchmark::State& state) {
  timeline::start();
  registered_one_thread(state);
  timeline::stop();
}
BENCHMARK(RegisteredOneThreadTraced);

// A second pushing thread exists, so every task is registered under the lock; cheap ones still run in push().
void RegisteredTwoPushers(benchmark::State& state) {
  Engine engine(config_with(1));
  Pattern pattern;
  std::atomic<bool> stop{false}, pushed{false};
  std::thread other([&] {
    Var var;
    std::array<Var*, 1> writes{&var};
    engine.push({.name = "other", .writes = writes, .cost_ns = kDear}, [] {});
    engine.wait_to_write(var);
    pushed = true;
    while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!pushed) std::this_thread::yield();
  int64_t runs = 0;
  for (auto _ : state) engine.push(pattern.spec(kCheap), [&runs] { ++runs; });
  stop = true;
  other.join();
}
BENCHMARK(RegisteredTwoPushers);

// To a worker and back to idle, many at a time: what one task costs when the frontend runs ahead.
void HandOffPipelined(benchmark::State& state) {
  Engine engine(config_with(static_cast<int>(state.range(0))));
  Pattern pattern;
  std::atomic<int64_t> runs{0};
  constexpr int kAhead = 1000;
  for (auto _ : state) {
    for (int i = 0; i < kAhead; ++i)
      engine.push(pattern.spec(kDear), [&runs] { runs.fetch_add(1, std::memory_order_relaxed); });
    engine.wait_all();
  }
  state.SetItemsProcessed(state.iterations() * kAhead);
}
BENCHMARK(HandOffPipelined)->Arg(1)->Arg(2)->UseRealTime();

// Push and wait each time.
void PushAndWait(benchmark::State& state) {
  Engine engine(config_with(1));
  Pattern pattern;
  int64_t runs = 0;
  for (auto _ : state) {
    engine.push(pattern.spec(kDear), [&runs] { ++runs; });
    engine.wait_to_read(*pattern.writes[0]);
  }
}
BENCHMARK(PushAndWait)->UseRealTime();

// A task that must run elsewhere, and a wait for it: the price of a hand-over there and back.
void BlockingTask(benchmark::State& state) {
  Engine engine(config_with(1));
  Var var;
  std::array<Var*, 1> writes{&var};
  for (auto _ : state) {
    engine.push({.name = "blocking", .writes = writes, .may_block = true}, [] {});
    engine.wait_to_read(var);
  }
}
BENCHMARK(BlockingTask)->UseRealTime();

void ManyReaders(benchmark::State& state) {
  Engine engine(config_with(1));
  Var shared;
  std::vector<Var> own(64);
  int64_t runs = 0;
  for (auto _ : state) {
    for (Var& var : own) {
      std::array<Var*, 1> reads{&shared}, writes{&var};
      engine.push({.name = "reader", .reads = reads, .writes = writes, .cost_ns = kDear}, [&runs] { ++runs; });
    }
    engine.wait_all();
  }
  state.SetItemsProcessed(state.iterations() * 64);
}
BENCHMARK(ManyReaders)->UseRealTime();

void Allocate(benchmark::State& state) {
  Allocator& allocator = allocator_of({});
  const size_t bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* block = allocator.allocate(bytes);
    benchmark::DoNotOptimize(block);
    allocator.release(block, bytes);
  }
}
BENCHMARK(Allocate)->Arg(40)->Arg(4096)->Arg(64 << 10)->Arg(1 << 20)->Arg(64 << 20);

void TraceSpan(benchmark::State& state) {
  if (state.range(0)) timeline::start();
  for (auto _ : state) timeline::Span span("span");
  timeline::stop();
}
BENCHMARK(TraceSpan)->Arg(0)->Arg(1);

}  // namespace
}  // namespace headrace
