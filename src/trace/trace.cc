#include "trace/trace.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_set>

#include <fmt/format.h>

namespace headrace::trace {

std::atomic<bool> detail::enabled_flag{false};

namespace {

constexpr size_t kRingSize = 1 << 16;

enum class Kind : uint64_t { kSpan, kCounter };

// One record. The fields are atomic because collect() may read a slot while its thread writes it again; such a slot is
// recognised by the ring's count and dropped.
struct Slot {
  std::atomic<const char*> name;
  std::atomic<uint64_t> begin;
  std::atomic<uint64_t> end;  // of a counter: its value
  std::atomic<Kind> kind;
};

// Written by one thread at a time; outlives it, so that its records can be collected.
struct Ring {
  int number = 0;
  std::string name;                // guarded by Recorder::mutex
  bool in_use = true;              // guarded by Recorder::mutex
  std::atomic<uint64_t> count{0};  // records ever written
  std::atomic<uint64_t> first{0};  // records before it were dropped by start()
  std::unique_ptr<Slot[]> slots = std::make_unique<Slot[]>(kRingSize);
};

struct Recorder {
  std::mutex mutex;
  std::vector<std::unique_ptr<Ring>> rings;  // guarded by mutex; rings are never destroyed
  std::unordered_set<std::string> names;     // guarded by mutex
};

Recorder& recorder() {
  static Recorder& instance = *new Recorder();
  return instance;
}

// The calling thread's part: its ring, once it has recorded something, and the name it asked for.
struct ThreadTrace {
  Ring* ring = nullptr;
  std::string name;

  ~ThreadTrace() {
    if (!ring) return;
    std::lock_guard guard(recorder().mutex);
    ring->in_use = false;
  }
};

thread_local ThreadTrace thread_trace;

// A ring is large: it is made at the first record, and one of an ended thread with the same name is used again.
Ring* make_ring() {
  std::lock_guard guard(recorder().mutex);
  auto& rings = recorder().rings;
  for (auto& ring : rings) {
    if (ring->in_use || thread_trace.name.empty() || ring->name != thread_trace.name) continue;
    ring->in_use = true;
    return ring.get();
  }
  rings.push_back(std::make_unique<Ring>());
  Ring* ring = rings.back().get();
  ring->number = static_cast<int>(rings.size());
  ring->name = thread_trace.name.empty() ? fmt::format("thread {}", ring->number) : thread_trace.name;
  return ring;
}

void write(const char* name, uint64_t begin, uint64_t end, Kind kind) noexcept {
  Ring* ring = thread_trace.ring;
  if (!ring) [[unlikely]] {
    try {
      ring = thread_trace.ring = make_ring();
    } catch (...) {  // no memory for a ring: this thread is not recorded
      return;
    }
  }
  const uint64_t count = ring->count.load(std::memory_order_relaxed);
  Slot& slot = ring->slots[count % kRingSize];
  slot.name.store(name, std::memory_order_relaxed);
  slot.begin.store(begin, std::memory_order_relaxed);
  slot.end.store(end, std::memory_order_relaxed);
  slot.kind.store(kind, std::memory_order_relaxed);
  ring->count.store(count + 1, std::memory_order_release);
}

Lane copy(const Ring& ring, const TickScale& scale) {
  Lane lane{ring.number, ring.name, {}, {}, 0};
  const uint64_t count = ring.count.load(std::memory_order_acquire);
  const uint64_t first = ring.first.load(std::memory_order_relaxed);
  uint64_t from = count > kRingSize ? count - kRingSize : 0;
  from = std::max(from, first);
  struct Copied {
    const char* name;
    uint64_t begin, end;
    Kind kind;
  };
  std::vector<Copied> copied;
  copied.reserve(count - from);
  for (uint64_t i = from; i < count; ++i) {
    const Slot& slot = ring.slots[i % kRingSize];
    copied.push_back({slot.name.load(std::memory_order_acquire), slot.begin.load(std::memory_order_acquire),
                      slot.end.load(std::memory_order_acquire), slot.kind.load(std::memory_order_acquire)});
  }
  // The thread may be writing the record after the newest one now, over the oldest.
  const uint64_t later = ring.count.load(std::memory_order_acquire) + 1;
  const uint64_t intact = std::min(count, std::max(from, later > kRingSize ? later - kRingSize : 0));
  lane.lost = intact - first;
  for (uint64_t i = intact; i < count; ++i) {
    const Copied& c = copied[i - from];
    if (c.kind == Kind::kSpan)
      lane.events.push_back({c.name, scale.to_ns(c.begin), scale.to_ns(c.end)});
    else
      lane.samples.push_back({c.name, scale.to_ns(c.begin), static_cast<int64_t>(c.end)});
  }
  return lane;
}

}  // namespace

void start() {
  {
    std::lock_guard guard(recorder().mutex);
    for (auto& ring : recorder().rings)
      ring->first.store(ring->count.load(std::memory_order_acquire), std::memory_order_relaxed);
  }
  resume();
}

void stop() noexcept { detail::enabled_flag.store(false, std::memory_order_relaxed); }
void resume() noexcept { detail::enabled_flag.store(true, std::memory_order_relaxed); }

void record(const char* name, uint64_t begin, uint64_t end) noexcept {
  if (enabled()) write(name, begin, end, Kind::kSpan);
}

void counter(const char* name, int64_t value) noexcept {
  if (enabled()) write(name, ticks(), static_cast<uint64_t>(value), Kind::kCounter);
}

void name_thread(std::string_view name) {
  thread_trace.name = name;
  if (!thread_trace.ring) return;
  std::lock_guard guard(recorder().mutex);
  thread_trace.ring->name = name;
}

const char* intern(std::string_view text) {
  std::lock_guard guard(recorder().mutex);
  return recorder().names.emplace(text).first->c_str();
}

std::vector<Lane> collect() {
  const TickScale scale;
  std::lock_guard guard(recorder().mutex);
  std::vector<Lane> lanes;
  for (const auto& ring : recorder().rings) lanes.push_back(copy(*ring, scale));
  return lanes;
}

void before_fork() noexcept { recorder().mutex.lock(); }
void after_fork() noexcept { recorder().mutex.unlock(); }

}  // namespace headrace::trace
