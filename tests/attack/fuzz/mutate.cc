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
// The same in texts, and the numbers that are none.
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

bool is_text(std::string_view input) {
  return std::ranges::all_of(input, [](char c) { return c >= ' ' || (c >= '\t' && c <= '\r'); });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.'; }

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

std::string put_limit(std::string_view input, Random& random) {
  const uint64_t choice = random();
  if (is_text(input))
    if (const std::vector<Part> numbers = numbers_in(input); !numbers.empty())
      return replaced(input, numbers[below(random, numbers.size())], kWrittenLimits[choice % kWrittenLimits.size()]);
  const size_t at = below(random, input.size());
  return with_number(input, at, kLimits[choice % kLimits.size()], random() % 2 ? 4 : 8, random() % 2);
}

std::string put_word(std::string_view input, std::string_view other, Random& random) {
  const std::vector<Part> words = words_in(input), others = words_in(other);
  if (words.empty() || others.empty()) return std::string(input);
  const Part by = others[below(random, others.size())];
  return replaced(input, words[below(random, words.size())], other.substr(by.begin, by.size));
}

Part any_part(std::string_view input, size_t longest, Random& random) {
  const size_t begin = below(random, input.size());
  return {begin, std::min(input.size() - begin, 1 + below(random, longest))};
}

std::string changed(std::string input, const std::vector<std::string>& corpus, Random& random) {
  const std::string_view other = corpus.empty() ? std::string_view(input) : corpus[below(random, corpus.size())];
  const Part part = any_part(input, 16, random);
  switch (random() % 10) {
    case 0:
      if (!input.empty()) input[part.begin] ^= static_cast<char>(1u << (random() % 8));
      return input;
    case 1:
      if (!input.empty()) input[part.begin] = static_cast<char>(random());
      return input;
    case 2: {
      const Part from = any_part(input, 64, random);
      return replaced(input, {part.begin, 0}, input.substr(from.begin, from.size));
    }
    case 3:
      return replaced(input, part, "");
    case 4: {
      const Part from = any_part(other, 64, random);
      return replaced(input, part, other.substr(from.begin, from.size));
    }
    case 5:
      return input.substr(0, part.begin).append(other.substr(below(random, other.size())));
    case 6:
      return random() % 4 ? put_word(input, other, random) : input.substr(0, part.begin);
    case 7:
      return put_word(input, random() % 2 ? std::string_view(input) : other, random);
    default:
      return put_limit(input, random);
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
  for (size_t left = 1 + below(random, 4); left > 0; --left) input = changed(std::move(input), corpus, random);
  if (input.size() > kLongestInput) input.resize(kLongestInput);
  return input;
}

std::string mutated(const std::vector<std::string>& corpus, Random& random) {
  return mutated(corpus.empty() ? std::string() : corpus[below(random, corpus.size())], corpus, random);
}

}  // namespace headrace::fuzz
