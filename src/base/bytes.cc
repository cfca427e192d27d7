#include "base/bytes.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/check.h"

namespace headrace {
namespace {

constexpr std::string_view kPrefixes = "KMGT";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

template <class Belongs>
std::string_view take_while(std::string_view& text, Belongs belongs) {
  const auto end = std::ranges::find_if_not(text, belongs);
  const std::string_view taken(text.begin(), end);
  text.remove_prefix(taken.size());
  return taken;
}

// 0: there is no such unit.
int64_t unit_bytes(std::string_view unit) {
  std::string upper(unit);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (upper.empty() || upper == "B") return 1;
  const size_t power = kPrefixes.find(upper[0]);
  const std::string_view rest = std::string_view(upper).substr(1);
  if (power == kPrefixes.npos || (rest != "B" && rest != "IB")) return 0;
  int64_t bytes = 1;
  for (size_t i = 0; i <= power; ++i) bytes *= rest == "B" ? 1000 : 1024;
  return bytes;
}

// What the digits behind the point are worth; -1: no whole number of bytes.
int64_t part_of(std::string_view digits, int64_t unit) {
  int64_t part = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    part += (digits[i] - '0') * unit;
    if (part % 10 != 0) return -1;  // what stands before it in the number does not mend that
    part /= 10;
  }
  return part;
}

}  // namespace

int64_t parse_bytes(std::string_view text, std::string_view what) {
  std::string_view rest = text;
  take_while(rest, is_space);
  const std::string_view whole = take_while(rest, is_digit);
  const bool has_point = rest.starts_with('.');
  if (has_point) rest.remove_prefix(1);
  const std::string_view digits = has_point ? take_while(rest, is_digit) : std::string_view();
  take_while(rest, is_space);
  const int64_t unit = unit_bytes(take_while(rest, is_letter));
  take_while(rest, is_space);
  check(rest.empty() && !whole.empty() && has_point == !digits.empty() && unit > 0, ErrorKind::kValue,
        "{}: '{}' is no number of bytes; write a number and B, KB, MB, GB, TB, KiB, MiB, GiB or TiB, as in 160MB", what,
        text);
  int64_t count = 0;
  const bool fits = std::from_chars(whole.data(), whole.data() + whole.size(), count).ec == std::errc();
  const int64_t part = part_of(digits, unit);
  check(part >= 0, ErrorKind::kValue, "{}: '{}' is no whole number of bytes", what, text);
  check(fits && count <= kMostBytes / unit && count * unit + part <= kMostBytes, ErrorKind::kValue,
        "{}: the number of bytes must be from 0 to {}, got {}", what, kMostBytes, text);
  return count * unit + part;
}

}  // namespace headrace
