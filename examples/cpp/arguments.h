// What the examples share: numbers among the arguments of a program.
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

// The value of an option, a whole number from 1 on. Raises invalid_argument.
inline int64_t count_from(const std::string& option, const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < 1)
    throw std::invalid_argument(option + ": expected a whole number from 1 on, got '" + text + "'");
  return number;
}
