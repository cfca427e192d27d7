// How fast memory streams, and what order and alignment of the accesses change.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "hardware/kernels.h"
#include "hardware/probes.h"

namespace headrace::hardware {
namespace {

constexpr size_t kLeastStreamBytes = size_t{64} << 20;
constexpr size_t kInCacheBytes = size_t{16} << 10;

// At least four times what the caches keep.
size_t stream_bytes(const Workbench& bench) {
  const size_t last_cache = told_cache_bytes(bench.processors().front().number, 3);
  return std::max((bench.quick() ? 1 : 2) * kLeastStreamBytes, 4 * last_cache);
}

using Pass = void (*)(std::span<std::byte> memory);

void read_pass(std::span<std::byte> memory) {
  uint64_t sum = read_all(memory.data(), memory.size());
  do_not_optimize(sum);
}

void write_pass(std::span<std::byte> memory) {
  std::memset(memory.data(), 1, memory.size());
  auto address = reinterpret_cast<uint64_t>(memory.data());
  do_not_optimize(address);
}

// Half of the memory is copied to the other half.
void copy_pass(std::span<std::byte> memory) {
  std::memcpy(memory.data(), memory.data() + memory.size() / 2, memory.size() / 2);
  auto address = reinterpret_cast<uint64_t>(memory.data());
  do_not_optimize(address);
}

// Bytes per second of passes through the memory, each processor through a part of its own: from the first to begin to
// the last to end.
double passes_per_second(Workbench& bench, std::span<const int> processors, Pass pass) {
  const std::span<std::byte> memory = bench.memory(stream_bytes(bench));
  const size_t part = memory.size() / processors.size() / kLineBytes * kLineBytes;
  std::vector<double> seconds;
  std::vector<uint64_t> begin(processors.size()), end(processors.size());
  const auto round = [&] {
    run_on(processors, [&](size_t i) {
      begin[i] = steady_ns();
      pass(memory.subspan(i * part, part));
      end[i] = steady_ns();
    });
    return static_cast<double>(std::ranges::max(end) - std::ranges::min(begin)) * kSecondsPerNs;
  };
  round();  // warms up
  for (int i = 0; i < bench.effort().rounds; ++i) seconds.push_back(round());
  return 1 / median(std::move(seconds));
}

template <Pass kPass, bool kAll>
Figure pass_rate(Workbench& bench) {
  const auto processors = kAll ? bench.numbers() : bench.first();
  const size_t bytes = stream_bytes(bench) / (kPass == copy_pass ? 2 : 1);
  std::string note = kAll ? fmt::format("threads: {}", processors.size()) : std::string();
  return {static_cast<double>(bytes) * passes_per_second(bench, processors, kPass), std::move(note)};
}

// Sums `count` words, each `step` words after the one before. Not inlined, so that all orders run the same code.
[[gnu::noinline]] uint64_t sum_words(const uint64_t* word, ptrdiff_t step, size_t count) noexcept {
  auto address = reinterpret_cast<uint64_t>(word);
  do_not_optimize(address);  // or the compiler could do one pass for many
  word = reinterpret_cast<const uint64_t*>(address);
  uint64_t a = 0, b = 0;
  for (; count >= 4; count -= 4, word += 4 * step) {
    a += word[0] + word[2 * step];
    b += word[step] + word[3 * step];
  }
  return a + b;
}

// Seconds per word of 8 bytes. Where lines are left out, each pass begins one line after the one before: the same lines
// again would be found in a cache.
template <int kStep>
Figure words(Workbench& bench) {
  constexpr size_t kWordsPerLine = kLineBytes / sizeof(uint64_t);
  constexpr auto kDistance = static_cast<size_t>(kStep < 0 ? -kStep : kStep);
  constexpr size_t kShifts = std::max<size_t>(1, kDistance / kWordsPerLine);
  const std::span<std::byte> memory = bench.memory(stream_bytes(bench));
  const size_t all = memory.size() / sizeof(uint64_t), count = all / kDistance / 4 * 4;
  const auto* first = reinterpret_cast<const uint64_t*>(memory.data());
  size_t pass = 0;
  double seconds = 0;
  run_on_first(bench, [&] {
    write_pass(memory);
    seconds = seconds_per_item(bench.effort(), [&](int64_t passes) {
      for (int64_t i = 0; i < passes; ++i, ++pass) {
        const uint64_t* begin = kStep < 0 ? first + all - 1 : first + pass % kShifts * kWordsPerLine;
        uint64_t sum = sum_words(begin, kStep, count);
        do_not_optimize(sum);
      }
    });
  });
  return {seconds / static_cast<double>(count)};
}

// Vectors that begin at multiples of their size, or one byte beyond.
template <size_t kOffset, bool kInCache>
Figure vectors(Workbench& bench) {
  const size_t bytes = kInCache ? kInCacheBytes : stream_bytes(bench);
  const std::span<std::byte> memory = bench.memory(bytes + kLineBytes);
  double seconds = 0;
  run_on_first(bench, [&] {
    write_pass(memory);
    seconds = seconds_per_item(bench.effort(), [&](int64_t passes) {
      for (int64_t i = 0; i < passes; ++i) read_pass(memory.subspan(kOffset, bytes));
    });
  });
  return {static_cast<double>(bytes) / seconds};
}

}  // namespace

std::vector<Row> memory_rows() {
  constexpr Unit kRate = Unit::kBytesPerSecond;
  return {
      {"memory_read", "sequential read, one core", kRate, {}, pass_rate<read_pass, false>},
      {"memory_write", "sequential write, one core", kRate, {}, pass_rate<write_pass, false>},
      {"memory_copy", "bytes copied, one core", kRate, {}, pass_rate<copy_pass, false>},
      {"memory_read_all", "sequential read, all cores", kRate, {}, pass_rate<read_pass, true>},
      {"memory_write_all", "sequential write, all cores", kRate, {}, pass_rate<write_pass, true>},
      {"memory_copy_all", "bytes copied, all cores", kRate, {}, pass_rate<copy_pass, true>},
      {"word_forward", "next word of 8 bytes", Unit::kSeconds, {}, words<1>},
      {"word_backward", "previous word of 8 bytes", Unit::kSeconds, {}, words<-1>},
      {"word_stride_64", "word 64 bytes further: one from each cache line", Unit::kSeconds, {}, words<8>},
      {"word_stride_4096", "word 4096 bytes further: one from each page", Unit::kSeconds, {}, words<512>},
      {"aligned_memory", "aligned vectors from memory", kRate, {}, vectors<0, false>},
      {"misaligned_memory", "vectors one byte off, from memory", kRate, {}, vectors<1, false>},
      {"aligned_cache", "aligned vectors from L1", kRate, {}, vectors<0, true>},
      {"misaligned_cache", "vectors one byte off, from L1", kRate, {}, vectors<1, true>},
  };
}

}  // namespace headrace::hardware
