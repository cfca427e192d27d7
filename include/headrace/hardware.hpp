// What this machine can do, measured, beside the latency numbers of the book "Dive into Deep Learning" (chapter 12.4).
// docs/hardware.md tells how each figure is measured. All of it takes under a minute, needs no privilege, and uses the
// processors that the process may use. `python -m headrace.hardware` and examples/cpp/measure_hardware.cc are made of
// this. Figures mean something while nothing else runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::hardware {

enum class Unit : uint8_t { kSeconds, kBytes, kBytesPerSecond, kOperationsPerSecond };
std::string_view unit_name(Unit unit) noexcept;  // "s", "bytes", "bytes/s", "operations/s"

// A row of the book's table 12.4.`table`.
struct BookFigure {
  std::string_view action;
  double seconds;
  int table;
};

// The book's figures, in its order.
std::span<const BookFigure> book() noexcept;

// What can be measured. Texts live as long as the process.
struct Description {
  std::string_view subject;  // "caches", "memory", ...
  std::string_view name;     // "l1_latency": letters, digits and underscores
  std::string_view what;     // one line
  Unit unit;
  std::vector<BookFigure> book;  // what the book has for it; may be empty
};

// Everything that can be measured, in the order of the table.
std::span<const Description> descriptions();
const Description& description_of(std::string_view name);  // raises ValueError for an unknown name

// The names in the order of the table, without repetitions. A subject stands for all that it has; no name at all means
// everything. Raises ValueError for a name that is neither, and lists the subjects.
std::vector<std::string_view> select(std::span<const std::string> names);

struct Measurement {
  std::string_view name;
  double value = 0;  // positive and finite when measured
  Unit unit = Unit::kSeconds;
  std::string note;     // how this value came about or is to be read; may be empty
  std::string why_not;  // why there is no value; empty when there is one
  bool measured() const noexcept { return why_not.empty(); }
};

// Mean seconds of one access when the accesses wander at random through `bytes` of memory.
struct LatencyPoint {
  size_t bytes;
  double seconds;
};

struct Options {
  std::string directory;  // where the disk is measured, in a file without a name; empty: the folder for temporary files
  bool quick = false;     // fewer and shorter rounds
};

// One run of measurements, which share what is dear to make. For one thread at a time; other threads of the process
// should rest meanwhile. Gives its memory and its file back when destroyed.
class Session {
 public:
  explicit Session(Options options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // What cannot be measured here says why. Raises ValueError for a name that descriptions() does not have.
  Measurement measure(std::string_view name);
  // The points behind the measurements of caches; empty before one of those is asked for.
  std::span<const LatencyPoint> latency_curve() const noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// "1.5 ns", "32 KiB", "12.3 GB/s", "181 Gop/s".
std::string value_text(double value, Unit unit);
// The measurements for people, by subject, with the book's figures beside them.
std::string table(std::span<const Measurement> measurements);

}  // namespace headrace::hardware
