// What PS_VERBOSE asks for: lines on stderr of what a process sees of its job.
#pragma once

#include <utility>

#include "base/log.h"

namespace headrace::distributed {

// kNodes: who comes, connects and goes; kMessages: every message between workers and servers besides.
enum class Verbosity { kQuiet, kNodes, kMessages };

// A line, where as much was asked for. Any thread; HEADRACE_LOG does not matter.
template <class... Args>
void report(Verbosity asked, Verbosity least, fmt::format_string<Args...> text, Args&&... args) {
  if (asked >= least) write_log(LogLevel::kInfo, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace headrace::distributed
