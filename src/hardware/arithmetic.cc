// What the cores compute: latency and rate of additions, branches, products of matrices in each type, compression.
#include <zlib.h>

#include <algorithm>
#include <random>

#include "base/check.h"
#include "hardware/kernels.h"
#include "hardware/probes.h"
#include "headrace/invoke.hpp"

namespace headrace::hardware {
namespace {

// A number that the compiler does not know.
float unknown_one() {
  volatile float one = 1;
  return one;
}

template <class Run>
Figure seconds_on_first(Workbench& bench, Run run) {
  double seconds = 0;
  run_on_first(bench, [&] { seconds = seconds_per_item(bench.effort(), run); });
  return {seconds};
}

// Unrolled, so that the loop's own work hides in the latency.
template <class Operation>
Figure chain(Workbench& bench, Operation operation) {
  constexpr int kUnrolled = 16;
  float x = unknown_one();
  const float y = unknown_one();
  Figure figure = seconds_on_first(bench, [&](int64_t times) {
    for (int64_t i = 0; i < times; ++i) {
#pragma GCC unroll 16
      for (int k = 0; k < kUnrolled; ++k) x = operation(x, y);
      do_not_optimize(x);
    }
  });
  figure.value /= kUnrolled;
  return figure;
}

Figure add_latency(Workbench& bench) {
  return chain(bench, [](float x, float y) { return x + y; });
}

Figure multiply_latency(Workbench& bench) {
  return chain(bench, [](float x, float y) { return x * y; });
}

Figure multiply_add_latency(Workbench& bench) {
  return seconds_on_first(bench, [](int64_t times) {
    float x = multiply_add_chain(unknown_one(), times);
    do_not_optimize(x);
  });
}

Figure scalar_adds(Workbench& bench) {
  constexpr int kSums = 8;
  const float y = unknown_one();
  const Figure pass = seconds_on_first(bench, [&](int64_t times) {
    float a = y, b = y, c = y, d = y, e = y, f = y, g = y, h = y;
    for (int64_t i = 0; i < times; ++i) {
      for (float* sum : {&a, &b, &c, &d, &e, &f, &g, &h}) {
        *sum += y;
        do_not_optimize(*sum);
      }
    }
  });
  return {kSums / pass.value, "one core"};
}

Figure vector_adds(Workbench& bench) {
  int64_t numbers = 0;
  const Figure pass = seconds_on_first(bench, [&](int64_t times) { numbers = add_vectors(times) / times; });
  return {static_cast<double>(numbers) / pass.value, fmt::format("one core, {} independent numbers", numbers)};
}

// Adds for each byte that is not 0. The empty statement keeps the branch a branch.
[[gnu::noinline]] uint64_t count_by_branch(std::span<const std::byte> bytes) noexcept {
  uint64_t count = 0;
  for (std::byte byte : bytes) {
    if (byte != std::byte{0}) {
      asm volatile("");
      count += 3;
    }
  }
  return count;
}

// Half of the branches on random bits are guessed wrongly, none to speak of when the same bits are sorted.
Figure branch_mispredict(Workbench& bench) {
  constexpr size_t kBytes = size_t{512} << 10;
  constexpr double kWrong = 0.5;
  const std::span<std::byte> bits = bench.memory(kBytes);
  std::mt19937 random(1);
  for (std::byte& bit : bits) bit = static_cast<std::byte>(random() & 1);
  const auto seconds_per_byte = [&] {
    return seconds_on_first(bench,
                            [&](int64_t passes) {
                              for (int64_t i = 0; i < passes; ++i) {
                                uint64_t count = count_by_branch(bits);
                                do_not_optimize(count);
                              }
                            })
               .value /
           static_cast<double>(kBytes);
  };
  const double guessed = seconds_per_byte();
  std::ranges::sort(bits);
  const double known = seconds_per_byte();
  if (guessed <= known) throw NotMeasured("random branches took no longer: the machine is too busy to tell");
  return {(guessed - known) / kWrong};
}

template <DType kType>
Figure product(Workbench& bench) {
  const int64_t n = bench.quick() ? 256 : 1024;
  const NDArray numbers = invoke("_ones", {}, {{"shape", Shape{n, n}}, {"dtype", kType}}).front();
  const auto run = [&](int64_t times) {
    for (int64_t i = 0; i < times; ++i) invoke("dot", {numbers, numbers}, {}).front().wait_to_read();
  };
  run(1);  // prepares the kernel
  Effort effort = bench.effort();
  effort.rounds = std::min(effort.rounds, 5);
  const double operations = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  return {operations / seconds_per_item(effort, run), fmt::format("{0} x {0}, all cores", n)};
}

// Text-like bytes: few values, many repetitions.
Figure compress(Workbench& bench) {
  constexpr size_t kBytes = 1024;
  std::vector<Bytef> text(kBytes), packed(compressBound(kBytes));
  std::mt19937 random(1);
  for (size_t i = 0; i < kBytes; ++i)
    text[i] = i >= 64 && random() % 4 ? text[i - 64] : static_cast<Bytef>('a' + random() % 16);
  uLongf size = 0;
  Figure figure = seconds_on_first(bench, [&](int64_t times) {
    for (int64_t i = 0; i < times; ++i) {
      size = static_cast<uLongf>(packed.size());
      const int code = compress2(packed.data(), &size, text.data(), kBytes, 1);
      check(code == Z_OK, ErrorKind::kRuntime, "hardware: zlib does not compress: error {}", code);
    }
  });
  figure.note = fmt::format("to {} bytes by zlib, level 1, in place of Snappy", size);
  return figure;
}

}  // namespace

std::vector<Row> arithmetic_rows() {
  constexpr Unit kTime = Unit::kSeconds, kRate = Unit::kOperationsPerSecond;
  constexpr std::string_view kLatency = "floating-point add, multiply or FMA";
  return {
      {"float_add", "float32 addition that needs the one before", kTime, {kLatency}, add_latency},
      {"float_multiply", "float32 multiplication that needs the one before", kTime, {kLatency}, multiply_latency},
      {"float_fma", "float32 multiply-add that needs the one before", kTime, {kLatency}, multiply_add_latency},
      {"scalar_adds", "independent float32 additions, one at a time", kRate, {}, scalar_adds},
      {"vector_adds", "independent float32 additions, by vectors", kRate, {}, vector_adds},
      {"branch_mispredict", "branch that was guessed wrongly", kTime, {"branch mispredict"}, branch_mispredict},
      {"dot_float32", "product of matrices, float32", kRate, {}, product<DType::kFloat32>},
      {"dot_float64", "product of matrices, float64", kRate, {}, product<DType::kFloat64>},
      {"dot_bfloat16", "product of matrices, bfloat16", kRate, {}, product<DType::kBfloat16>},
      {"dot_int8", "product of matrices, int8", kRate, {}, product<DType::kInt8>},
      {"compress_1k", "compress 1 KB", kTime, {"compress 1 KB, Snappy"}, compress},
  };
}

}  // namespace headrace::hardware
