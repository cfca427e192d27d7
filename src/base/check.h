// Raising errors. `check` builds its text only on failure; the text says operation, expected, got, and how to fix.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "headrace/error.hpp"
#include "headrace/shape.hpp"

template <>
struct fmt::formatter<headrace::ShapeText> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const headrace::ShapeText& text, Context& context) const {
    return fmt::formatter<std::string>::format(std::string(text), context);
  }
};

namespace headrace {

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(kind, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
inline void check(bool condition, ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) [[unlikely]]
    throw Error(kind, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace headrace
