// Spans of time and values over time, written by every layer and read by the profiler. Off, a span costs one
// predictable branch; on, it writes one record into a ring of its thread, without a lock. Any thread may call any
// function. Names are literals or texts from intern().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace headrace::trace {

namespace detail {
extern std::atomic<bool> enabled_flag;
}

inline bool enabled() noexcept { return detail::enabled_flag.load(std::memory_order_relaxed); }

// Drops what was recorded before and begins to record.
void start();
void stop() noexcept;
// Records again after stop(), keeping what is there.
void resume() noexcept;

// What happened from `begin` to `end`, stamps of ticks(), in the calling thread. Each thread keeps its newest 65536.
void record(const char* name, uint64_t begin, uint64_t end) noexcept;
// The value of a counter from now on.
void counter(const char* name, int64_t value) noexcept;

// Names the lane of the calling thread in the timeline.
void name_thread(std::string_view name);

// A text that is never freed; equal texts give equal pointers. Takes a lock: not for the hot path.
const char* intern(std::string_view text);

// Records the time from construction to destruction, if tracing is on at both.
class Span {
 public:
  explicit Span(const char* name) noexcept : name_(name), begin_(enabled() ? ticks() : 0) {}
  ~Span() {
    if (begin_) [[unlikely]]
      record(name_, begin_, ticks());
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  const char* const name_;
  const uint64_t begin_;
};

struct Event {
  const char* name;
  double begin_ns;  // of steady_clock
  double end_ns;
};

struct Sample {
  const char* name;
  double at_ns;
  int64_t value;
};

// What one thread recorded, oldest first.
struct Lane {
  int number;  // small and unique among the lanes
  std::string name;
  std::vector<Event> events;
  std::vector<Sample> samples;
  uint64_t lost;  // records that newer ones have overwritten
};

// A copy of everything recorded so far; threads may go on recording meanwhile.
std::vector<Lane> collect();

// Around fork(): no other thread holds the lock while the process is copied.
void before_fork() noexcept;
void after_fork() noexcept;

}  // namespace headrace::trace
