// What ran when: recording it, tables and timelines of it, and marks of the program's own. The names are those of
// headrace.profiler in Python. Any thread may call any function; one annotation object is for one thread at a time.
//
//   profiler::set_config({.filename = "run.json"});
//   profiler::start();
//   train();
//   profiler::stop();
//   profiler::dump();                    // python -m headrace.timeline run.json -o run.html
//   std::cout << profiler::dumps();      // a table by operation
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::timeline {
struct Category;
}

namespace headrace::profiler {

struct Config {
  bool all = false;        // everything below, whatever it says
  bool symbolic = true;    // the steps of compiled graphs
  bool imperative = true;  // operations: the tasks of the engine
  bool memory = true;      // live, peak and pooled bytes of every device
  bool api = true;         // where the program waits for the engine
  std::string filename = "profile.json";
  bool continuous_dump = false;  // while recording, write the file every `dump_period` seconds, and when it stops
  double dump_period = 1.0;      // seconds
};

// Replaces all settings; what is being recorded changes with the next start(). Raises ValueError unless the period is
// positive.
void set_config(Config config);
Config get_config();

// Drops an earlier recording and begins a new one.
void start();
// Waits for the operations stated so far and ends the recording.
void stop();
// The same, keeping what is there for resume().
void pause();
void resume();
bool is_recording() noexcept;

// Waits for the operations stated so far and writes the recording to the configured file, in the format that
// headrace.timeline, ui.perfetto.dev and chrome://tracing read. Ends the recording when `finished`. Raises RuntimeError
// when nothing was ever recorded, and OSError when the file cannot be written.
void dump(bool finished = true);

enum class Format : uint8_t { kTable, kJson };
enum class SortBy : uint8_t { kTotal, kAvg, kMin, kMax, kCount };
struct DumpsOptions {
  bool reset = false;  // the next table counts from here; the timeline keeps everything
  Format format = Format::kTable;
  SortBy sort_by = SortBy::kTotal;
  bool ascending = false;
};
// Count, total, least, most and mean of every name, by category: times in milliseconds, memory in kB; of the recording,
// or since dumps() was told to reset. Waits for the operations stated so far.
std::string dumps(const DumpsOptions& options = {});

class Task;
class Frame;
class Counter;
class Marker;

// Groups what a program marks itself.
class Domain {
 public:
  explicit Domain(std::string_view name) : name_(name) {}
  const std::string& name() const noexcept { return name_; }
  Task new_task(std::string_view name) const;
  Frame new_frame(std::string_view name) const;
  Counter new_counter(std::string_view name, std::optional<int64_t> value = {}) const;
  Marker new_marker(std::string_view name) const;

 private:
  std::string name_;
};

// A name with start() and stop(). What lies between is recorded when the profiler runs at both; stop() without start()
// records nothing, and a second start() begins anew. The time is that of the calling thread: operations that it states
// may run later.
class Duration {
 public:
  void start() noexcept;
  std::string_view name() const noexcept { return name_; }

 protected:
  Duration(std::string_view name, std::string_view category);
  ~Duration() = default;
  uint64_t take_begin() noexcept;  // 0: not started

  const char* name_;
  const timeline::Category* category_;

 private:
  uint64_t begin_ = 0;
};

// Logical work, which may begin in one thread and end in another. Passes are summed up.
class Task : public Duration {
 public:
  Task(const Domain& domain, std::string_view name) : Duration(name, domain.name()) {}
  void stop() noexcept;
};

// A pass of something repeated, an epoch or a picture.
class Frame : public Duration {
 public:
  Frame(const Domain& domain, std::string_view name) : Duration(name, domain.name() + ",frame") {}
  void stop() noexcept;
};

// What the calling thread does from start() to stop(), drawn in its lane.
class Event : public Duration {
 public:
  explicit Event(std::string_view name) : Duration(name, "event") {}
  void stop() noexcept;
};

// A value over time, 0 at first; an initial value is recorded. The value is kept also while nothing is recorded.
class Counter {
 public:
  Counter(const Domain& domain, std::string_view name, std::optional<int64_t> value = {});
  Counter(const Counter& other) noexcept
      : name_(other.name_), category_(other.category_), value_(other.value_.load(std::memory_order_relaxed)) {}
  Counter& operator=(const Counter&) = delete;

  std::string_view name() const noexcept { return name_; }
  int64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }
  void set_value(int64_t value) noexcept;
  void increment(int64_t delta = 1) noexcept;
  void decrement(int64_t delta = 1) noexcept { increment(-delta); }
  Counter& operator+=(int64_t delta) noexcept { return increment(delta), *this; }
  Counter& operator-=(int64_t delta) noexcept { return increment(-delta), *this; }

 private:
  const char* name_;
  const timeline::Category* category_;
  std::atomic<int64_t> value_;
};

// A moment.
class Marker {
 public:
  Marker(const Domain& domain, std::string_view name);
  std::string_view name() const noexcept { return name_; }
  // What the moment concerns: "global", "process", "thread", "task" or "marker". Raises ValueError for another scope.
  void mark(std::string_view scope = "process") const;

 private:
  const char* name_;
  const timeline::Category* category_;
};

// A block of the program, drawn in the lane of its thread. Inside another scope the name goes behind that one's:
// "epoch 1:" and "forward:" make "epoch 1:forward:"; a missing colon is added.
class Scope {
 public:
  [[nodiscard]] explicit Scope(std::string_view name, bool append = true);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  const std::string& name() const noexcept { return name_; }

 private:
  const std::string name_;
  const std::string* const outer_;
  const char* const label_;  // null: nothing was recorded at the beginning
  const uint64_t begin_;
};

}  // namespace headrace::profiler
