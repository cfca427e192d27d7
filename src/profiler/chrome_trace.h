// The timeline in the format that chrome://tracing and ui.perfetto.dev read: one lane per thread, one bar per task,
// one curve per counter. Any thread may call these functions.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace headrace::profiler {

void write_chrome_trace(const std::vector<trace::Lane>& lanes, std::ostream& out);

// Writes what has been recorded so far. Raises Error(kOs) when the file cannot be written.
void save_chrome_trace(const std::string& path);

// With HEADRACE_TRACE set: records from now on, and writes the timeline there when the process exits.
void start_if_configured();

}  // namespace headrace::profiler
