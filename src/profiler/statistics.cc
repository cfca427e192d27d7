#include "profiler/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

namespace headrace::profiler {
namespace {

using Json = nlohmann::ordered_json;
using Unit = Section::Unit;

void add(Statistic& row, double value) {
  row.least = row.count ? std::min(row.least, value) : value;
  row.most = row.count ? std::max(row.most, value) : value;
  row.total += value;
  ++row.count;
}

double key(const Statistic& row, Unit unit, SortBy sort_by) {
  switch (sort_by) {
    case SortBy::kAvg:
      return row.mean();
    case SortBy::kMin:
      return row.least;
    case SortBy::kMax:
      return row.most;
    case SortBy::kCount:
      return static_cast<double>(row.count);
    case SortBy::kTotal:
      break;
  }
  return unit == Unit::kMilliseconds ? row.total : row.most;  // a sum of levels means nothing
}

void sort(Section& section, SortBy sort_by, bool ascending) {
  std::ranges::stable_sort(section.rows, [&](const Statistic& a, const Statistic& b) {
    const double left = key(a, section.unit, sort_by), right = key(b, section.unit, sort_by);
    return ascending ? left < right : left > right;
  });
}

struct UnitText {
  const char* part;   // of the JSON form
  const char* unit;   // in it
  const char* total;  // head of the column; empty: there is none
  const char *least, *most, *mean;
};

const UnitText& text_of(Unit unit) {
  static constexpr UnitText kTexts[] = {
      {"Time", "ms", "Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)"},
      {"Memory", "kB", "", "Min Use  (kB)", "Max Use  (kB)", "Avg Use  (kB)"},
      {"Counter", "number", "", "Min Value", "Max Value", "Avg Value"},
  };
  return kTexts[static_cast<size_t>(unit)];
}

void append_table(const Section& section, std::string& text) {
  const UnitText& head = text_of(section.unit);
  const auto out = std::back_inserter(text);
  size_t width = 25;
  for (const Statistic& row : section.rows) width = std::max(width, row.name.size());
  const auto line = [&](std::string_view name, std::string_view count, std::initializer_list<std::string_view> values) {
    fmt::format_to(out, "{:<{}}{:>16}", name, width, count);
    for (const std::string_view value : values)
      if (!value.empty()) fmt::format_to(out, " {:>16}", value);
    text += '\n';
  };
  const auto dashes = [](std::string_view title) { return std::string(title.size(), '-'); };
  const auto number = [](double value) { return fmt::format("{:.4f}", value); };
  fmt::format_to(out, "{}\n=================\n", section.category);
  line("Name", "Total Count", {head.total, head.least, head.most, head.mean});
  line("----", "-----------", {dashes(head.total), dashes(head.least), dashes(head.most), dashes(head.mean)});
  for (const Statistic& row : section.rows)
    line(row.name, fmt::to_string(row.count),
         {*head.total ? number(row.total) : "", number(row.least), number(row.most), number(row.mean())});
  text += '\n';
}

Json json_of(const Statistic& row, Unit unit) {
  Json json{{"Count", row.count}};
  if (unit == Unit::kMilliseconds) json["Total"] = row.total;
  json["Min"] = row.least;
  json["Max"] = row.most;
  json["Avg"] = row.mean();
  return json;
}

std::string_view category_of(const timeline::Event& event) {
  const bool is_issued_by_code = event.category == std::string_view(timeline::kOperator.name) &&
                                 std::string_view(event.name).find("::") != std::string_view::npos;
  return is_issued_by_code ? timeline::kCustomOperator.name : event.category;
}

}  // namespace

std::vector<Section> statistics(const std::vector<timeline::Lane>& lanes, SortBy sort_by, bool ascending) {
  std::map<std::tuple<std::string_view, timeline::Clock, Unit>, std::map<std::string_view, Statistic>> found;
  for (const timeline::Lane& lane : lanes) {
    for (const timeline::Event& event : lane.events)
      add(found[{category_of(event), lane.clock, Unit::kMilliseconds}][event.name],
          (event.end_ns - event.begin_ns) / 1e6);
    for (const timeline::Sample& sample : lane.samples) {
      const bool is_memory = sample.category == std::string_view(timeline::kDeviceMemory.name);
      const double value = static_cast<double>(sample.value);
      add(found[{sample.category, lane.clock, is_memory ? Unit::kKilobytes : Unit::kNumber}][sample.name],
          is_memory ? value / 1e3 : value);
    }
  }
  std::vector<Section> sections;
  for (auto& [place, rows] : found) {
    const auto& [category, clock, unit] = place;
    const char* const suffix = clock == timeline::Clock::kVirtual ? " (virtual time)" : "";
    Section& section = sections.emplace_back(std::string(category) + suffix, unit);
    for (auto& [name, row] : rows) {
      row.name = name;
      section.rows.push_back(std::move(row));
    }
    sort(section, sort_by, ascending);
  }
  return sections;
}

std::string statistics_table(const std::vector<Section>& sections) {
  std::string text = "\nProfile Statistics:\n\tNote the difference in units for different entries.\n";
  for (const Section& section : sections) append_table(section, text);
  return text;
}

std::string statistics_json(const std::vector<Section>& sections) {
  Json json = Json::object();
  Json units;
  for (const Unit unit : {Unit::kMilliseconds, Unit::kKilobytes, Unit::kNumber}) {
    const UnitText& head = text_of(unit);
    Json& part = json[head.part] = Json::object();
    for (const Section& section : sections) {
      if (section.unit != unit) continue;
      Json& rows = part[section.category] = Json::object();
      for (const Statistic& row : section.rows) rows[row.name] = json_of(row, unit);
    }
    units[head.part] = head.unit;
  }
  json["Unit"] = units;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace headrace::profiler
