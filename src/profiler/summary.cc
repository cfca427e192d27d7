#include "profiler/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

namespace headrace::profiler {

std::vector<SummaryRow> summarize(const std::vector<trace::Lane>& lanes) {
  std::map<std::string_view, SummaryRow> by_name;
  for (const trace::Lane& lane : lanes) {
    for (const trace::Event& event : lane.events) {
      const double us = (event.end_ns - event.begin_ns) / 1e3;
      SummaryRow& row = by_name[event.name];
      row.least_us = row.count ? std::min(row.least_us, us) : us;
      row.most_us = row.count ? std::max(row.most_us, us) : us;
      row.total_us += us;
      ++row.count;
    }
  }
  std::vector<SummaryRow> rows;
  for (auto& [name, row] : by_name) {
    row.name = name;
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater<>(), &SummaryRow::total_us);
  return rows;
}

std::string summary_table(const std::vector<SummaryRow>& rows) {
  size_t width = std::string_view("name").size();
  double total = 0;
  for (const SummaryRow& row : rows) {
    width = std::max(width, row.name.size());
    total += row.total_us;
  }
  std::string text = fmt::format("{:<{}}  {:>10}  {:>14}  {:>7}  {:>12}  {:>12}  {:>12}\n", "name", width, "count",
                                 "total (us)", "share", "mean (us)", "least (us)", "most (us)");
  for (const SummaryRow& row : rows)
    fmt::format_to(std::back_inserter(text), "{:<{}}  {:>10}  {:>14.3f}  {:>6.1f}%  {:>12.3f}  {:>12.3f}  {:>12.3f}\n",
                   row.name, width, row.count, row.total_us, total > 0 ? row.total_us / total * 100 : 0, row.mean_us(),
                   row.least_us, row.most_us);
  return text;
}

}  // namespace headrace::profiler
