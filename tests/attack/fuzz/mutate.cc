#include "tests/attack/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace headrace::fuzz {
namespace {

// Where signs and widths change: 31, 32, 62, 63 and 64 bits.
constexpr std::array<uint64_t, 11> kLimits = {
    0,          1,          ~uint64_t{0}, (1ull << 31) - 1, 1ull << 31, (1ull << 32) - 1,
    1ull << 32, 1ull << 61, 1ull << 62,   (1ull << 63) - 1, 1ull << 63};
// The same in texts; the first kPlainNumbers are numbers of JSON, too.
constexpr size_t kPlainNumbers = 18;
constexpr std::array<std::string_view, 20> kWrittenLimits = {"0",
                                                             "1",
                                                             "-1",
                                                             "2",
                                                             "65536",
                                                             "2147483647",
                                                             "2147483648",
                                                             "-2147483648",
                                                             "4294967296",
                                                             "2305843009213693952",
                                                             "4611686018427387904",
                                                             "9223372036854775807",
                                                             "-9223372036854775808",
                                                             "18446744073709551615",
                                                             "18446744073709551616",
                                                             "0.5",
                                                             "1e308",
                                                             "-1e400",
                                                             "nan",
                                                             "None"};

using Random = std::mt19937_64;

// Below `count`; 0 where that is 0.
size_t below(Random& random, size_t count) { return count ? static_cast<size_t>(random() % count) : 0; }

bool is_text(char c) { return c >= ' ' || (c >= '\t' && c <= '\r'); }
bool is_text(std::string_view input) {
  return std::ranges::all_of(input, [](char c) { return is_text(c); });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_digit(c) || is_letter(c) || c == '.'; }

struct Part {
  size_t begin, size;
};

// Stretches of characters that belong together; a sign goes with its number.
template <class Belongs>
std::vector<Part> parts_of(std::string_view text, Belongs belongs) {
  std::vector<Part> parts;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    while (i < text.size() && belongs(text[i])) ++i;
    if (i == begin) {
      ++i;
      continue;
    }
    if (begin > 0 && is_letter(text[begin - 1])) continue;  // "float32" is no number
    if (begin > 0 && text[begin - 1] == '-' && is_digit(text[begin])) --begin;
    parts.push_back({begin, i - begin});
  }
  return parts;
}

std::vector<Part> numbers_in(std::string_view text) { return parts_of(text, is_digit); }
std::vector<Part> words_in(std::string_view text) { return parts_of(text, is_word); }

std::string replaced(std::string_view input, Part part, std::string_view by) {
  std::string result(input.substr(0, part.begin));
  return result.append(by).append(input.substr(part.begin + part.size));
}

std::string with_number(std::string_view input, size_t at, uint64_t value, size_t width, bool big_endian) {
  std::array<char, 8> bytes;
  std::memcpy(bytes.data(), &value, bytes.size());
  if (big_endian) std::reverse(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(width));
  const size_t size = std::min(width, input.size() - at);
  return replaced(input, {at, size}, {bytes.data(), size});
}

bool is_quoted(std::string_view text, size_t at) { return std::ranges::count(text.substr(0, at), '"') % 2 == 1; }
bool is_number(std::string_view word) { return is_digit(word[0]) || word[0] == '-'; }

// Brackets and what is between them; nothing where they do not close.
std::vector<Part> groups_in(std::string_view text) {
  std::vector<Part> groups;
  std::vector<size_t> open;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '[' || text[i] == '(') open.push_back(i);
    if ((text[i] == '}' || text[i] == ']' || text[i] == ')') && !open.empty()) {
      groups.push_back({open.back(), i + 1 - open.back()});
      open.pop_back();
    }
  }
  return groups;
}

std::string put_number(std::string_view input, Random& random) {
  const uint64_t choice = random();
  if (is_text(input)) {
    if (const std::vector<Part> numbers = numbers_in(input); !numbers.empty()) {
      const Part number = numbers[below(random, numbers.size())];
      const size_t choices = is_quoted(input, number.begin) ? kWrittenLimits.size() : kPlainNumbers;
      return replaced(input, number, kWrittenLimits[choice % choices]);
    }
  }
  const size_t at = below(random, input.size());
  return with_number(input, at, kLimits[choice % kLimits.size()], random() % 2 ? 4 : 8, random() % 2);
}

// A part of a kind of the one text takes the place of one of the other, a number that of a number.
std::string put_part(std::string_view input, std::string_view other, bool group, Random& random) {
  const std::vector<Part> parts = group ? groups_in(input) : words_in(input),
                          others = group ? groups_in(other) : words_in(other);
  if (parts.empty() || others.empty()) return std::string(input);
  const Part to = parts[below(random, parts.size())];
  const std::string_view old = input.substr(to.begin, to.size);
  for (int tries = 0; tries < 20; ++tries) {
    const Part from = others[below(random, others.size())];
    const std::string_view by = other.substr(from.begin, from.size);
    if (group ? by[0] == old[0] : is_number(by) == is_number(old)) return replaced(input, to, by);
  }
  return std::string(input);
}

// As a text: what is between its brackets and quotes changes, so that most of a reader gets to see it.
std::string changed_text(const std::string& input, std::string_view other, Random& random) {
  switch (random() % 8) {
    case 0:
      return put_part(input, input, true, random);
    case 1:
      return put_part(input, other, true, random);
    case 2:
    case 3:
      return put_part(input, input, false, random);
    case 4:
      return put_part(input, other, false, random);
    default:
      return put_number(input, random);
  }
}

Part any_part(std::string_view input, size_t longest, Random& random) {
  const size_t begin = below(random, input.size());
  return {begin, std::min(input.size() - begin, 1 + below(random, longest))};
}

std::string changed_bytes(std::string input, std::string_view other, Random& random) {
  const Part part = any_part(input, 16, random);
  const auto any_of = [&](std::string_view bytes) {
    const Part from = any_part(bytes, 64, random);
    return bytes.substr(from.begin, from.size);
  };
  switch (random() % 9) {
    case 0:
      if (!input.empty()) input[part.begin] ^= static_cast<char>(1u << (random() % 8));
      return input;
    case 1:
      if (!input.empty()) input[part.begin] = static_cast<char>(random());
      return input;
    case 2:
      return replaced(input, {part.begin, 0}, any_of(input));
    case 3:
      return replaced(input, part, "");
    case 4:
      return replaced(input, part, any_of(other));
    case 5:
      return input.substr(0, part.begin).append(other.substr(below(random, other.size())));
    case 6:
      return input.substr(0, part.begin);
    default:
      return put_number(input, random);
  }
}

}  // namespace

void each_at_limits(std::string_view input, FunctionRef<void(const std::string&)> use) {
  for (size_t size = 0; size < input.size(); ++size) use(std::string(input.substr(0, size)));
  if (is_text(input)) {
    for (const Part& number : numbers_in(input))
      for (std::string_view limit : kWrittenLimits) use(replaced(input, number, limit));
    return;
  }
  for (size_t at = 0; at < input.size(); ++at)
    for (uint64_t limit : kLimits)
      for (size_t width : {4, 8})
        for (bool big_endian : {false, true}) use(with_number(input, at, limit, width, big_endian));
}

std::string mutated(std::string input, const std::vector<std::string>& corpus, Random& random) {
  const std::string other = corpus.empty() ? input : corpus[below(random, corpus.size())];
  // A text and the bytes behind it change one at a time.
  const auto end = std::ranges::find_if_not(input, [](char c) { return is_text(c); });
  std::string before, behind;
  if (random() % 2) {
    behind.assign(end, input.end());
    input.erase(end, input.end());
  } else if (end != input.end()) {
    before.assign(input.begin(), end);
    input.erase(input.begin(), end);
  }
  const bool gently = is_text(input) && random() % 4;
  for (size_t left = 1 + below(random, 4); left > 0; --left)
    input = gently ? changed_text(input, other, random) : changed_bytes(std::move(input), other, random);
  input = before + input + behind;
  if (input.size() > kLongestInput) input.resize(kLongestInput);
  return input;
}

std::string mutated(const std::vector<std::string>& corpus, Random& random) {
  return mutated(corpus.empty() ? std::string() : corpus[below(random, corpus.size())], corpus, random);
}

}  // namespace headrace::fuzz
