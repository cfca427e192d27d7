#include "profiler/chrome_trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <ostream>
#include <string_view>

#include "base/check.h"
#include "base/config.h"
#include "base/log.h"
#include "engine/runtime.h"

namespace headrace::profiler {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(result), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

double first_moment(const std::vector<trace::Lane>& lanes) {
  double first = std::numeric_limits<double>::infinity();
  for (const trace::Lane& lane : lanes) {
    for (const trace::Event& event : lane.events) first = std::min(first, event.begin_ns);
    for (const trace::Sample& sample : lane.samples) first = std::min(first, sample.at_ns);
  }
  return first;
}

void save_at_exit() {
  runtime().shutdown();
  try {
    save_chrome_trace(config().trace_path);
  } catch (const std::exception& error) {
    log(LogLevel::kError, "{}", error.what());
  }
}

}  // namespace

void write_chrome_trace(const std::vector<trace::Lane>& lanes, std::ostream& out) {
  const double origin = first_moment(lanes);
  const int process = getpid();
  const char* separator = "\n";
  const auto line = [&](const std::string& text) {
    out << separator << text;
    separator = ",\n";
  };
  out << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  for (const trace::Lane& lane : lanes) {
    if (lane.events.empty() && lane.samples.empty()) continue;
    line(fmt::format(R"({{"name": "thread_name", "ph": "M", "pid": {}, "tid": {}, "args": {{"name": {}}}}})", process,
                     lane.number, quoted(lane.name)));
    for (const trace::Event& event : lane.events)
      line(fmt::format(R"({{"name": {}, "ph": "X", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}}})",
                       quoted(event.name), process, lane.number, (event.begin_ns - origin) / 1e3,
                       (event.end_ns - event.begin_ns) / 1e3));
    for (const trace::Sample& sample : lane.samples)
      line(fmt::format(R"({{"name": {}, "ph": "C", "pid": {}, "tid": {}, "ts": {:.3f}, "args": {{"value": {}}}}})",
                       quoted(sample.name), process, lane.number, (sample.at_ns - origin) / 1e3, sample.value));
  }
  out << "\n]}\n";
}

void save_chrome_trace(const std::string& path) {
  std::ofstream file(path);
  write_chrome_trace(trace::collect(), file);
  file.close();
  check(!file.fail(), ErrorKind::kOs,
        "profiler: cannot write the timeline to '{}'. Name a file in a folder that exists.", path);
}

void start_if_configured() {
  if (config().trace_path.empty() || trace::enabled()) return;
  trace::start();
  std::atexit(save_at_exit);
}

}  // namespace headrace::profiler
