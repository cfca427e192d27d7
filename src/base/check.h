// Raising errors. `check` builds its text only on failure; the text says operation, expected, got, and how to fix.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "headrace/error.hpp"

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
