// Numbers as texts have them.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace headrace {

// The number that is the whole text, in decimal digits; none: it is something else, or no `Number` holds it.
template <class Number>
std::optional<Number> whole_number(std::string_view text) noexcept {
  Number number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

}  // namespace headrace
