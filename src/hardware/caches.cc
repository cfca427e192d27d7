// Sizes and latencies of caches and memory, all from one curve of pointer chases.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/plateaus.h"
#include "hardware/probes.h"

namespace headrace::hardware {
namespace {

std::string told_text(size_t bytes) {
  if (bytes == 0) return "the system tells no size";
  return fmt::format("the system says {}", value_text(static_cast<double>(bytes), Unit::kBytes));
}

// The plateau of a cache; null when the curve does not show it. The last plateau is memory.
const Plateau* plateau_of(std::span<const Plateau> plateaus, int level) {
  return static_cast<size_t>(level) < plateaus.size() ? &plateaus[static_cast<size_t>(level) - 1] : nullptr;
}

double latency_near(std::span<const LatencyPoint> curve, size_t bytes) {
  const auto distance = [&](const LatencyPoint& point) {
    return std::abs(std::log2(static_cast<double>(point.bytes) / static_cast<double>(bytes)));
  };
  return std::ranges::min_element(curve, {}, distance)->seconds;
}

// What the reader is to know of the curve: nothing if nothing disturbed it.
std::string curve_note(const Workbench& bench) {
  if (bench.repeated_points() == 0) return "";
  return fmt::format("; {} of {} sizes measured again: a larger one was faster", bench.repeated_points(),
                     bench.known_curve().size());
}

template <int kLevel>
Figure cache_size(Workbench& bench) {
  const std::vector<Plateau> plateaus = find_plateaus(bench.curve());
  const std::string told = told_text(told_cache_bytes(bench.processors().front().number, kLevel));
  const Plateau* plateau = plateau_of(plateaus, kLevel);
  if (!plateau) throw NotMeasured(fmt::format("the latency curve shows no level {}; {}", kLevel, told));
  return {static_cast<double>(plateau->largest_bytes), told};
}

// At half of the size of the cache, where everything fits, and most of it not into the cache before.
template <int kLevel>
Figure cache_latency(Workbench& bench) {
  const std::span<const LatencyPoint> curve = bench.curve();
  size_t size = told_cache_bytes(bench.processors().front().number, kLevel);
  if (size == 0) {
    const std::vector<Plateau> plateaus = find_plateaus(curve);
    const Plateau* plateau = plateau_of(plateaus, kLevel);
    if (!plateau) throw NotMeasured(fmt::format("the latency curve shows no level {}; {}", kLevel, told_text(0)));
    size = plateau->largest_bytes;
  }
  if (size / 2 > curve.back().bytes)
    throw NotMeasured(fmt::format("the cache is larger than what could be measured; {}", told_text(size)));
  return {
      latency_near(curve, size / 2),
      fmt::format("chase through {}{}", value_text(static_cast<double>(size / 2), Unit::kBytes), curve_note(bench))};
}

template <size_t kMegabytes>
Figure local_memory(Workbench& bench) {
  constexpr size_t kBytes = kMegabytes << 20;
  for (const LatencyPoint& point : bench.curve())
    if (point.bytes == kBytes) return {point.seconds};
  throw NotMeasured("too little free memory");
}

}  // namespace

std::vector<Row> cache_rows() {
  return {
      {"l1_size", "size of the L1 data cache", Unit::kBytes, {}, cache_size<1>},
      {"l2_size", "size of the L2 cache", Unit::kBytes, {}, cache_size<2>},
      {"l3_size", "size of the L3 cache", Unit::kBytes, {}, cache_size<3>},
      {"l1_latency", "L1 cache hit", Unit::kSeconds, {"L1 cache hit"}, cache_latency<1>},
      {"l2_latency", "L2 cache hit", Unit::kSeconds, {"L2 cache hit"}, cache_latency<2>},
      {"l3_latency", "L3 cache hit", Unit::kSeconds, {"L3 cache hit, unshared"}, cache_latency<3>},
      {"memory_64m", "random access to 64 MiB", Unit::kSeconds, {"64 MB memory, local"}, local_memory<64>},
      {"memory_256m", "random access to 256 MiB", Unit::kSeconds, {"256 MB memory, local"}, local_memory<256>},
  };
}

}  // namespace headrace::hardware
