#include "base/check.h"

#include <algorithm>

fmt::appender fmt::formatter<headrace::ShapeText>::format(const headrace::ShapeText& text,
                                                          fmt::format_context& context) {
  return std::ranges::copy(std::string(text), context.out()).out;
}

namespace headrace {

void fail_formatted(ErrorKind kind, fmt::string_view text, fmt::format_args args) {
  throw Error(kind, fmt::vformat(text, args));
}

}  // namespace headrace
