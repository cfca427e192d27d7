// Recording by environment variable; the rest of the session is public, in headrace/profiler.hpp.
#pragma once

namespace headrace::profiler {

// With HEADRACE_TIMELINE set: records from now on, and writes the timeline there when the process exits.
void start_if_configured();

}  // namespace headrace::profiler
