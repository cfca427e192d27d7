// What was recorded, summed up by name. Pure functions over what timeline::collect() returns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/profiler.hpp"
#include "timeline/timeline.h"

namespace headrace::profiler {

struct Statistic {
  std::string name;
  int64_t count = 0;
  double total = 0, least = 0, most = 0;
  double mean() const { return total / static_cast<double>(count); }
};

struct Section {
  enum class Unit : uint8_t { kMilliseconds, kKilobytes, kNumber };  // of spans; of memory; of the program's counters
  std::string category;
  Unit unit;
  std::vector<Statistic> rows;
};

// One section for each category, clock and unit, by name of the category; its rows by `sort_by`, then by name. Marks
// are left out: they have nothing to sum up.
std::vector<Section> statistics(const std::vector<timeline::Lane>& lanes, SortBy sort_by, bool ascending);

// Aligned columns as MXNet prints them.
std::string statistics_table(const std::vector<Section>& sections);
// {"Time": {category: {name: {"Count", "Total", "Min", "Max", "Avg"}}}, "Memory": ..., "Counter": ..., "Unit": ...};
// what is no time has no total.
std::string statistics_json(const std::vector<Section>& sections);

}  // namespace headrace::profiler
