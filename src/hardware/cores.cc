// Lines that another core holds, and what lies between sockets.
#include <atomic>
#include <thread>
#include <utility>

#include "base/machine.h"
#include "hardware/chase.h"
#include "hardware/probes.h"

namespace headrace::hardware {
namespace {

constexpr size_t kSharedBytes = size_t{128} << 10;
constexpr size_t kDefaultL2Bytes = size_t{2} << 20;
constexpr char kOneCore[] = "needs two cores of one socket, and the process may use one";
constexpr char kOneSocket[] = "needs processors of two sockets, and the process may use one socket";
constexpr char kOneMemory[] = "needs processors of two memory nodes, and the process may use one node";

// The order in which two threads take turns. Waiting threads give their processor away: there may be only one.
class Turns {
 public:
  void wait_for(int turn) const noexcept {
    while (now_.load(std::memory_order_acquire) != turn) std::this_thread::yield();
  }
  void set(int turn) noexcept { now_.store(turn, std::memory_order_release); }

 private:
  alignas(kLineBytes) std::atomic<int> now_{0};
};

// Reads or writes one word of each line, beside the link.
void touch(std::span<std::byte> memory, bool write) noexcept {
  for (size_t i = 0; i + kLineBytes <= memory.size(); i += kLineBytes) {
    auto* word = reinterpret_cast<uint64_t*>(memory.data() + i) + 1;
    if (write) *word += 1;
    uint64_t value = *word;
    do_not_optimize(value);
  }
}

// What an access costs when another processor holds the line: both take turns on some memory; before its turn the
// reader forgets it by walking through memory larger than its own caches.
double line_latency(Workbench& bench, int holder, bool modified) {
  const size_t told = told_cache_bytes(bench.numbers().front(), 2);
  const size_t flush_bytes = 2 * (told ? told : kDefaultL2Bytes);
  const std::span<std::byte> memory = bench.memory(kSharedBytes + flush_bytes);
  const std::span<std::byte> shared = memory.first(kSharedBytes), flush = memory.subspan(kSharedBytes);
  void** line = link_cycle(shared, 1);
  constexpr int64_t kLines = kSharedBytes / kLineBytes;
  const int rounds = bench.quick() ? 9 : 31;
  Turns turns;
  std::vector<double> seconds;
  seconds.reserve(static_cast<size_t>(rounds));
  const int pair[] = {bench.numbers().front(), holder};
  run_on(pair, [&](size_t index) {
    for (int round = 0; round < rounds; ++round) {
      if (index == 1) {
        turns.wait_for(2 * round + 1);
        touch(shared, modified);
        turns.set(2 * round + 2);
        continue;
      }
      touch(flush, true);
      turns.set(2 * round + 1);
      turns.wait_for(2 * round + 2);
      const uint64_t start = steady_ns();
      auto end = reinterpret_cast<uint64_t>(follow(line, kLines));
      do_not_optimize(end);
      seconds.push_back(seconds_since(start) / kLines);
    }
  });
  return median(std::move(seconds));
}

template <bool kModified>
Figure in_another_core(Workbench& bench) {
  const auto other = in_other_core(bench.processors());
  if (!other) throw NotMeasured(kOneCore);
  return {line_latency(bench, other->number, kModified)};
}

Figure in_another_socket(Workbench& bench) {
  const auto other = in_other_package(bench.processors());
  if (!other) throw NotMeasured(kOneSocket);
  return {line_latency(bench, other->number, false)};
}

Figure socket_hop(Workbench& bench) {
  const auto near = in_other_core(bench.processors()), far = in_other_package(bench.processors());
  if (!far) throw NotMeasured(kOneSocket);
  if (!near) throw NotMeasured(kOneCore);
  const double hop = line_latency(bench, far->number, false) - line_latency(bench, near->number, false);
  if (hop <= 0) throw NotMeasured("lines of the other socket came no later: the machine is too busy to tell");
  return {hop, "a line from another socket, less one from another core"};
}

template <size_t kMegabytes>
Figure remote_memory(Workbench& bench) {
  const auto other = at_other_memory(bench.processors());
  if (!other) throw NotMeasured(kOneMemory);
  constexpr size_t kBytes = kMegabytes << 20;
  if (std::cmp_greater(kBytes, available_memory() / 2)) throw NotMeasured("too little free memory");
  const Region region(kBytes);
  const int holder[] = {other->number};
  run_on(holder, [&](size_t) { link_cycle(region.bytes(), 1); });
  double seconds = 0;
  run_on_first(bench, [&] { seconds = chase_seconds(region.bytes(), bench.effort()); });
  return {seconds};
}

Figure needs_optane(Workbench&) { throw NotMeasured("needs persistent memory (Intel Optane) and the right to map it"); }

}  // namespace

std::vector<Row> core_rows() {
  return {
      {"line_shared",
       "line that another core holds unchanged",
       Unit::kSeconds,
       {"L3 cache hit, shared in another core"},
       in_another_core<false>},
      {"line_modified",
       "line that another core has changed",
       Unit::kSeconds,
       {"L3 cache hit, modified in another core"},
       in_another_core<true>},
      {"line_remote",
       "line that a core of another socket holds",
       Unit::kSeconds,
       {"L3 cache hit, remote socket"},
       in_another_socket},
      {"socket_hop", "way to another socket", Unit::kSeconds, {"hop to another socket"}, socket_hop},
      {"memory_64m_remote",
       "random access to 64 MiB at another socket",
       Unit::kSeconds,
       {"64 MB memory, remote"},
       remote_memory<64>},
      {"memory_256m_remote",
       "random access to 256 MiB at another socket",
       Unit::kSeconds,
       {"256 MB memory, remote"},
       remote_memory<256>},
      {"optane_write", "random write to persistent memory", Unit::kSeconds, {"Optane random write"}, needs_optane},
      {"optane_read", "random read from persistent memory", Unit::kSeconds, {"Optane random read"}, needs_optane},
  };
}

}  // namespace headrace::hardware
