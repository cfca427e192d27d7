// The timeline in the format that headrace.timeline, ui.perfetto.dev and chrome://tracing read: a lane per thread,
// stream and link, one bar per task, arrows from where a task was pushed to where it ran, one curve per counter. Any
// thread may call these functions. docs/profiler.md describes the fields.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace headrace::profiler {

// What a moment of steady_clock was elsewhere: by this the timelines of several processes are laid over each other.
struct Moment {
  double steady_ns, unix_ns;
  std::string machine;  // processes with the same have one steady_clock
};
Moment now();

// `moment`: written too, as that of time 0.
void write_chrome_trace(const std::vector<timeline::Lane>& lanes, std::ostream& out, const Moment* moment = nullptr);

// Writes what has been recorded so far. Raises Error(kOs) when the file cannot be written.
void save_chrome_trace(const std::string& path);

}  // namespace headrace::profiler
