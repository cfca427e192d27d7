#include "hardware/chase.h"

#include <algorithm>
#include <random>
#include <utility>

namespace headrace::hardware {

void** link_cycle(std::span<std::byte> memory, uint64_t seed) {
  const size_t lines = memory.size() / kLineBytes;
  const auto line = [&](size_t i) -> void*& { return *reinterpret_cast<void**>(memory.data() + i * kLineBytes); };
  for (size_t i = 0; i < lines; ++i) line(i) = &line(i);
  // Sattolo's shuffle: an element never stays and never changes places with itself, which leaves one cycle.
  std::mt19937_64 random(seed);
  for (size_t i = lines - 1; i > 0; --i) {
    const auto j = static_cast<size_t>(static_cast<unsigned __int128>(random()) * i >> 64);
    std::swap(line(i), line(j));
  }
  return &line(0);
}

void** follow(void** line, int64_t steps) noexcept {
  for (; steps >= 8; steps -= 8) {
    for (int i = 0; i < 8; ++i) line = static_cast<void**>(*line);
  }
  for (; steps > 0; --steps) line = static_cast<void**>(*line);
  return line;
}

double chase_seconds(std::span<std::byte> memory, const Effort& effort) {
  constexpr size_t kWarm = size_t{32} << 20;  // larger memory keeps nothing of a round that the next could find
  void** line = link_cycle(memory, memory.size());
  const auto run = [&](int64_t steps) {
    line = follow(line, steps);
    auto address = reinterpret_cast<uint64_t>(line);
    do_not_optimize(address);
  };
  if (memory.size() <= kWarm) run(static_cast<int64_t>(memory.size() / kLineBytes));
  return seconds_per_item(effort, run);
}

}  // namespace headrace::hardware
