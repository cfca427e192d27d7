// What the recorded tasks cost, by name. Pure functions over what trace::collect() returns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace headrace::profiler {

struct SummaryRow {
  std::string name;
  int64_t count = 0;
  double total_us = 0, least_us = 0, most_us = 0;
  double mean_us() const { return total_us / static_cast<double>(count); }
};

// One row per name; the largest total first.
std::vector<SummaryRow> summarize(const std::vector<trace::Lane>& lanes);

// The rows as text, with a head line and aligned columns.
std::string summary_table(const std::vector<SummaryRow>& rows);

}  // namespace headrace::profiler
