// Values and measurements as text.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "headrace/hardware.hpp"

namespace headrace::hardware {
namespace {

struct Prefix {
  double factor;
  const char* text;
};

// The largest prefix that leaves at least 1, or the smallest.
std::string with_prefix(double value, std::span<const Prefix> largest_first, const char* unit) {
  const auto fits = [&](const Prefix& prefix) { return value >= prefix.factor * 0.9995; };
  const auto found = std::ranges::find_if(largest_first, fits);
  const Prefix& prefix = found == largest_first.end() ? largest_first.back() : *found;
  const double scaled = value / prefix.factor;
  const int decimals = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
  std::string number = fmt::format("{:.{}f}", scaled, decimals);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return fmt::format("{} {}{}", number, prefix.text, unit);
}

constexpr std::array kTimes = {Prefix{1, ""}, Prefix{1e-3, "m"}, Prefix{1e-6, "u"}, Prefix{1e-9, "n"}};
constexpr std::array kSizes = {Prefix{1 << 30, "Gi"}, Prefix{1 << 20, "Mi"}, Prefix{1 << 10, "Ki"}, Prefix{1, ""}};
constexpr std::array kRates = {Prefix{1e12, "T"}, Prefix{1e9, "G"}, Prefix{1e6, "M"}, Prefix{1e3, "k"}, Prefix{1, ""}};

using Cells = std::array<std::string, 4>;

Cells cells_of(const Measurement& measurement) {
  const Description& description = description_of(measurement.name);
  Cells cells{std::string(measurement.name), "-", "", std::string(description.what)};
  if (measurement.measured()) cells[1] = value_text(measurement.value, measurement.unit);
  std::vector<double> book;
  for (const BookFigure& figure : description.book)
    if (std::ranges::find(book, figure.seconds) == book.end()) book.push_back(figure.seconds);
  for (double seconds : book) cells[2] += (cells[2].empty() ? "" : ", ") + value_text(seconds, Unit::kSeconds);
  if (!measurement.measured())
    cells[3] += "; not measured: " + measurement.why_not;
  else if (!measurement.note.empty())
    cells[3] += "; " + measurement.note;
  return cells;
}

}  // namespace

std::string_view unit_name(Unit unit) noexcept {
  switch (unit) {
    case Unit::kSeconds:
      return "s";
    case Unit::kBytes:
      return "bytes";
    case Unit::kBytesPerSecond:
      return "bytes/s";
    case Unit::kOperationsPerSecond:
      break;
  }
  return "operations/s";
}

std::string value_text(double value, Unit unit) {
  switch (unit) {
    case Unit::kSeconds:
      return with_prefix(value, kTimes, "s");
    case Unit::kBytes:
      return with_prefix(value, kSizes, "B");
    case Unit::kBytesPerSecond:
      return with_prefix(value, kRates, "B/s");
    case Unit::kOperationsPerSecond:
      break;
  }
  return with_prefix(value, kRates, "op/s");
}

std::string table(std::span<const Measurement> measurements) {
  std::vector<Cells> rows{{"", "here", "book", ""}};
  for (const Measurement& measurement : measurements) rows.push_back(cells_of(measurement));
  std::array<size_t, 3> width{};
  for (const Cells& cells : rows)
    for (size_t i = 0; i < width.size(); ++i) width[i] = std::max(width[i], cells[i].size());
  std::string text;
  const auto add = [&](const Cells& cells) {
    std::string line =
        fmt::format("{:<{}}  {:>{}}  {:>{}}  {}", cells[0], width[0], cells[1], width[1], cells[2], width[2], cells[3]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add(rows.front());
  std::string_view subject;
  for (size_t i = 0; i < measurements.size(); ++i) {
    const std::string_view now = description_of(measurements[i].name).subject;
    if (now != subject) text += fmt::format("\n{}\n", now);
    subject = now;
    add(rows[i + 1]);
  }
  text += "\nbook: \"Dive into Deep Learning\", tables 12.4.1 and 12.4.2, for the machines of those years\n";
  return text;
}

}  // namespace headrace::hardware
