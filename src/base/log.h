// The one logger: lines on stderr, each written at once. HEADRACE_LOG sets the least severe level that is printed.
// Any thread may call it.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/config.h"

namespace headrace {

bool log_enabled(LogLevel level) noexcept;
void write_log(LogLevel level, std::string_view message) noexcept;

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(level)) write_log(level, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace headrace
