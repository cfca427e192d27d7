// Spans of time, values over time and marks, written by every layer and read by the profiler. Off, a span costs one
// predictable branch; on, it writes one record into the ring of its lane: without a lock where the lane is a thread.
// Any thread may call any function. Names and categories live for ever: literals, or texts from intern().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace headrace::timeline {

// What can be recorded or left out by itself; start() takes a set of them.
enum class Source : uint32_t {
  kOperators = 1,    // tasks of the engine
  kGraphSteps = 2,   // steps of compiled graphs, inside the task that runs the graph
  kMemory = 4,       // bytes of devices
  kCalls = 8,        // where the program waits for the engine
  kAnnotations = 16  // what the program itself marks
};

using Sources = uint32_t;  // a set of Source
inline constexpr Sources kAllSources = 31;
constexpr Sources operator|(Source a, Source b) noexcept { return static_cast<Sources>(a) | static_cast<Sources>(b); }
constexpr Sources operator|(Sources a, Source b) noexcept { return a | static_cast<Sources>(b); }

// Groups records in reports.
struct Category {
  const char* name;
  Source source;
};
inline constexpr Category kOperator{"operator", Source::kOperators};
// Code of the program that is an operator, and what it issues. Records of the latter have "::" in their names, behind
// that of the operator, and are kOperator's: reports tell them apart.
inline constexpr Category kCustomOperator{"Custom Operator", Source::kOperators};
inline constexpr Category kGraphStep{"operator", Source::kGraphSteps};
inline constexpr Category kLink{"link", Source::kOperators};  // what passes a link: part of an operator in a stream
inline constexpr Category kMessage{"message", Source::kOperators};           // to another process or from it
inline constexpr Category kDeviceMemory{"Device Storage", Source::kMemory};  // MXNet's name of it
inline constexpr Category kCall{"MXNET_C_API", Source::kCalls};              // likewise

// A category of the program's own; equal names give the same one. Takes a lock, like intern().
const Category& annotation_category(std::string_view name);

struct Label {
  Label(const char* name, const Category& category = kOperator) noexcept : name(name), category(&category) {}
  const char* name;
  const Category* category;
};

namespace detail {
extern std::atomic<Sources> recorded;
struct Ring;
}  // namespace detail

inline bool enabled() noexcept { return detail::recorded.load(std::memory_order_relaxed) != 0; }
inline bool enabled(Source source) noexcept {
  return detail::recorded.load(std::memory_order_relaxed) & static_cast<Sources>(source);
}

// Drops what was recorded before and begins to record.
void start(Sources sources = kAllSources);
// The same, but the section goes on.
void restart(Sources sources);
// Begins a new section of the recording, which collect() can give by itself. The first begins with start().
void begin_section();
void stop() noexcept;
// Records again after stop(), the same sources, keeping what is there.
void resume() noexcept;

// A moment in a lane from which something was sent to run elsewhere: the tail of an arrow.
struct Origin {
  uint64_t at = 0;
  int lane = 0;  // 0: none
};
// Now, in the calling thread.
Origin here() noexcept;

// What happened from `begin` to `end`, stamps of ticks(), in the calling thread. Each lane keeps its newest 131072
// records.
void record(Label label, uint64_t begin, uint64_t end, Origin origin = {}) noexcept;
// The same for what need not nest with the spans of this thread: it may have begun in another one.
void record_async(Label label, uint64_t begin, uint64_t end) noexcept;
// Something that all ends call by the same number has left this process, or come to it: where the timelines of several
// processes are drawn as one, an arrow from the span that sends it to the one in which it comes. Of several that send
// what has the same number it is the last, for which the others have waited.
void sent(Label label, uint64_t message) noexcept;
void received(Label label, uint64_t message) noexcept;
// A number for what a text describes, the same in all processes.
uint64_t message_number(std::string_view text) noexcept;
// The value of a counter from `at` on.
void counter(Label label, int64_t value, uint64_t at = ticks()) noexcept;

// How much of the picture a mark concerns.
enum class Scope : uint8_t { kGlobal, kProcess, kThread };
void mark(Label label, Scope scope) noexcept;

// Names the lane of the calling thread in the timeline.
void name_thread(std::string_view name);

// A text that is never freed; equal texts give equal pointers. Takes a lock: not for the hot path.
const char* intern(std::string_view text);

// What the stamps of a lane are.
enum class Clock : uint8_t {
  kTicks,    // ticks(), as in threads
  kVirtual,  // nanoseconds of a simulated clock that starts at 0
};

// A lane that is no thread: a stream, a link. Lanes of one group are drawn together. Two tracks of equal name, group
// and clock are the same lane. Cheap to copy; lanes live for ever.
class Track {
 public:
  Track(std::string_view name, std::string_view group, Clock clock = Clock::kTicks);
  // `begin` and `end` are stamps of the lane's clock; several threads take turns.
  void record(Label label, uint64_t begin, uint64_t end, Origin origin = {}) const noexcept;

 private:
  detail::Ring* ring_;
};

// Records the time from construction to destruction in the calling thread, if its source is recorded at both.
class Span {
 public:
  explicit Span(Label label) noexcept : label_(label), begin_(enabled(label.category->source) ? ticks() : 0) {}
  ~Span() {
    if (begin_) [[unlikely]]
      record(label_, begin_, ticks());
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  const Label label_;
  const uint64_t begin_;
};

// Times are nanoseconds of steady_clock, or those of the lane's virtual clock.
struct Event {
  const char* name;
  const char* category;
  double begin_ns;
  double end_ns;
  bool async = false;   // see record_async()
  int origin_lane = 0;  // 0: ran where it was stated
  double origin_ns = 0;
};

struct Sample {
  const char* name;
  const char* category;
  double at_ns;
  int64_t value;
};

struct Mark {
  const char* name;
  const char* category;
  double at_ns;
  Scope scope;
};

struct Message {
  const char* name;
  const char* category;
  double at_ns;
  uint64_t number;
  bool is_received;
};

inline constexpr const char* kThreadGroup = "host threads";

// What one lane holds, in the order in which it was recorded.
struct Lane {
  int number = 0;  // from 1, unique among the lanes
  std::string name;
  std::string group = kThreadGroup;
  Clock clock = Clock::kTicks;
  std::vector<Event> events;
  std::vector<Sample> samples;
  std::vector<Mark> marks;
  std::vector<Message> messages = {};
  uint64_t lost = 0;  // records that newer ones have overwritten
};

enum class Extent : uint8_t { kRecording, kSection };  // all of it; since begin_section()

// A copy of what was recorded so far; threads may go on recording meanwhile.
std::vector<Lane> collect(Extent extent = Extent::kRecording);

// Around fork(): no other thread holds a lock while the process is copied.
void before_fork() noexcept;
void after_fork() noexcept;

}  // namespace headrace::timeline
