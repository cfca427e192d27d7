// The timeline in the format that headrace.timeline, ui.perfetto.dev and chrome://tracing read: a lane per thread,
// stream and link, one bar per task, arrows from where a task was pushed to where it ran, one curve per counter. Any
// thread may call these functions. docs/profiler.md describes the fields.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace headrace::profiler {

void write_chrome_trace(const std::vector<timeline::Lane>& lanes, std::ostream& out);

// Writes what has been recorded so far. Raises Error(kOs) when the file cannot be written.
void save_chrome_trace(const std::string& path);

}  // namespace headrace::profiler
