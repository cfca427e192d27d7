// Raising errors. `check` builds its text only on failure; the text says operation, expected, got, and how to fix.
#pragma once

#include <fmt/format.h>

#include "headrace/error.hpp"
#include "headrace/shape.hpp"

// Only "{}". Nearly every file names shapes in its errors, so the code for it is compiled once, in check.cc.
template <>
struct fmt::formatter<headrace::ShapeText> {
  static constexpr const char* parse(const fmt::format_parse_context& context) { return context.begin(); }
  static fmt::appender format(const headrace::ShapeText& text, fmt::format_context& context);
};

namespace headrace {

// What `fail` and `check` do, compiled once as well.
[[noreturn]] void fail_formatted(ErrorKind kind, fmt::string_view text, fmt::format_args args);

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
  fail_formatted(kind, text, fmt::make_format_args(args...));
}

template <class... Args>
inline void check(bool condition, ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) [[unlikely]]
    fail_formatted(kind, text, fmt::make_format_args(args...));
}

}  // namespace headrace
