#include "timeline/timeline.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "timeline/ring.h"

namespace headrace::timeline {

using detail::Kind;
using detail::Ring;
using detail::Slot;

std::atomic<Sources> detail::recorded{0};

namespace {

struct Recorder {
  std::mutex mutex;
  std::vector<std::unique_ptr<Ring>> rings;              // guarded by mutex; rings are never destroyed
  std::unordered_set<std::string> names;                 // guarded by mutex
  std::unordered_map<const char*, Category> categories;  // by name; guarded by mutex
  std::atomic<Sources> chosen{kAllSources};              // by the last start()
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

// With the mutex held.
Ring* add_ring() {
  auto& rings = recorder().rings;
  rings.push_back(std::make_unique<Ring>());
  rings.back()->number = static_cast<int>(rings.size());
  return rings.back().get();
}

// A ring is large: it is made at the first record, and one of an ended thread with the same name is used again.
Ring* make_thread_ring() {
  std::lock_guard guard(recorder().mutex);
  for (auto& ring : recorder().rings) {
    if (ring->is_track || ring->in_use || thread_trace.name.empty() || ring->name != thread_trace.name) continue;
    ring->in_use = true;
    return ring.get();
  }
  Ring* ring = add_ring();
  if (!thread_trace.name.empty())
    ring->name = thread_trace.name;
  else
    ring->name = syscall(SYS_gettid) == getpid() ? "main" : fmt::format("thread {}", ring->number);
  return ring;
}

// Null: there was no memory for a ring, and this thread is not recorded.
Ring* thread_ring() noexcept {
  if (!thread_trace.ring) [[unlikely]] {
    try {
      thread_trace.ring = make_thread_ring();
    } catch (...) {
      return nullptr;
    }
  }
  return thread_trace.ring;
}

void write(Kind kind, Label label, uint64_t begin, uint64_t end, Origin origin = {}) noexcept {
  if (!enabled(label.category->source)) return;
  if (Ring* ring = thread_ring()) ring->write(kind, label, begin, end, origin);
}

void add(const Slot& slot, bool is_virtual, const TickScale& scale, Lane& lane) {
  const auto to_ns = [&](uint64_t stamp) { return is_virtual ? static_cast<double>(stamp) : scale.to_ns(stamp); };
  const double begin = to_ns(slot.begin);
  switch (slot.kind) {
    case Kind::kSpan:
    case Kind::kAsyncSpan:
      lane.events.push_back({slot.name, slot.category->name, begin, to_ns(slot.end), slot.kind == Kind::kAsyncSpan,
                             static_cast<int>(slot.origin_lane), slot.origin_lane ? scale.to_ns(slot.origin_at) : 0});
      break;
    case Kind::kCounter:
      lane.samples.push_back({slot.name, slot.category->name, begin, static_cast<int64_t>(slot.end)});
      break;
    case Kind::kMark:
      lane.marks.push_back({slot.name, slot.category->name, begin, static_cast<Scope>(slot.end)});
      break;
    case Kind::kSent:
    case Kind::kReceived:
      lane.messages.push_back({slot.name, slot.category->name, begin, slot.end, slot.kind == Kind::kReceived});
      break;
  }
}

Lane copy(const Ring& ring, Extent extent, const TickScale& scale) {
  Lane lane{.number = ring.number, .name = ring.name, .group = ring.group, .clock = ring.clock};
  const uint64_t count = ring.count.load(std::memory_order_acquire);
  const uint64_t first = (extent == Extent::kSection ? ring.section : ring.first).load(std::memory_order_relaxed);
  const uint64_t from = std::max(count > Ring::kSize ? count - Ring::kSize : 0, first);
  std::vector<Slot> copied;
  copied.reserve(count - from);
  for (uint64_t i = from; i < count; ++i) copied.push_back(ring.read(i));
  // The thread may be writing the record after the newest one now, over the oldest.
  const uint64_t later = ring.count.load(std::memory_order_acquire) + 1;
  const uint64_t intact = std::min(count, std::max(from, later > Ring::kSize ? later - Ring::kSize : 0));
  lane.lost = intact - first;
  for (uint64_t i = intact; i < count; ++i) add(copied[i - from], ring.clock == Clock::kVirtual, scale, lane);
  return lane;
}

// What comes from now on is the first record of its kind in each lane.
void mark_first(std::atomic<uint64_t> Ring::*place) {
  std::lock_guard guard(recorder().mutex);
  for (auto& ring : recorder().rings)
    ((*ring).*place).store(ring->count.load(std::memory_order_acquire), std::memory_order_relaxed);
}

}  // namespace

void start(Sources sources) {
  begin_section();
  restart(sources);
}

void restart(Sources sources) {
  mark_first(&Ring::first);
  recorder().chosen.store(sources, std::memory_order_relaxed);
  resume();
}

void begin_section() { mark_first(&Ring::section); }

void stop() noexcept { detail::recorded.store(0, std::memory_order_relaxed); }
void resume() noexcept {
  detail::recorded.store(recorder().chosen.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

Origin here() noexcept {
  const Ring* ring = thread_ring();
  return {ticks(), ring ? ring->number : 0};
}

void record(Label label, uint64_t begin, uint64_t end, Origin origin) noexcept {
  write(Kind::kSpan, label, begin, end, origin);
}

void record_async(Label label, uint64_t begin, uint64_t end) noexcept { write(Kind::kAsyncSpan, label, begin, end); }

void sent(Label label, uint64_t message) noexcept { write(Kind::kSent, label, ticks(), message); }

void received(Label label, uint64_t message) noexcept { write(Kind::kReceived, label, ticks(), message); }

uint64_t message_number(std::string_view text) noexcept {  // FNV-1a
  uint64_t hash = 14695981039346656037u;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return hash;
}

void counter(Label label, int64_t value, uint64_t at) noexcept {
  write(Kind::kCounter, label, at, static_cast<uint64_t>(value));
}

void mark(Label label, Scope scope) noexcept { write(Kind::kMark, label, ticks(), static_cast<uint64_t>(scope)); }

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

const Category& annotation_category(std::string_view name) {
  const char* const text = intern(name);
  std::lock_guard guard(recorder().mutex);
  return recorder().categories.try_emplace(text, Category{text, Source::kAnnotations}).first->second;
}

Track::Track(std::string_view name, std::string_view group, Clock clock) {
  const char* const group_name = intern(group);
  std::lock_guard guard(recorder().mutex);
  const auto known = std::ranges::find_if(recorder().rings, [&](const auto& ring) {
    return ring->is_track && ring->name == name && ring->group == group_name && ring->clock == clock;
  });
  ring_ = known != recorder().rings.end() ? known->get() : add_ring();
  ring_->is_track = true;
  ring_->name = name;
  ring_->group = group_name;
  ring_->clock = clock;
}

void Track::record(Label label, uint64_t begin, uint64_t end, Origin origin) const noexcept {
  if (!enabled(label.category->source)) return;
  std::lock_guard guard(ring_->lock);
  ring_->write(Kind::kSpan, label, begin, end, origin);
}

std::vector<Lane> collect(Extent extent) {
  const TickScale scale;
  std::lock_guard guard(recorder().mutex);
  std::vector<Lane> lanes;
  for (const auto& ring : recorder().rings) lanes.push_back(copy(*ring, extent, scale));
  return lanes;
}

void before_fork() noexcept {
  recorder().mutex.lock();
  for (auto& ring : recorder().rings) ring->lock.lock();
}

void after_fork() noexcept {
  for (auto& ring : recorder().rings) ring->lock.unlock();
  recorder().mutex.unlock();
}

}  // namespace headrace::timeline
