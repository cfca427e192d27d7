#include "profiler/statistics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headrace::profiler {
namespace {

std::vector<timeline::Lane> lanes() {
  return {{.number = 1,
           .name = "worker",
           .events = {{"add", "operator", 1e6, 3e6}, {"mul", "operator", 3e6, 4e6}, {"epoch", "mine", 0, 5e6, true}},
           .samples = {{"Memory: cpu/0", "Device Storage", 2, 2000}, {"Memory: cpu/0", "Device Storage", 3, 4000}}},
          {.number = 2,
           .name = "main",
           .events = {{"add", "operator", 5e5, 1.5e6}},
           .samples = {{"images", "mine", 2, 7}}}};
}

TEST(Statistics, RowsByCategoryLargestTotalFirst) {
  const auto sections = statistics(lanes(), SortBy::kTotal, false);
  ASSERT_EQ(sections.size(), 4u);
  EXPECT_EQ(sections[0].category, "Device Storage");
  EXPECT_EQ(sections[0].unit, Section::Unit::kKilobytes);
  EXPECT_DOUBLE_EQ(sections[0].rows[0].mean(), 3);
  EXPECT_EQ(sections[1].category, "mine");
  EXPECT_EQ(sections[1].unit, Section::Unit::kMilliseconds);
  EXPECT_EQ(sections[2].unit, Section::Unit::kNumber);
  const auto& rows = sections[3].rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "add");
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_DOUBLE_EQ(rows[0].total, 3);
  EXPECT_DOUBLE_EQ(rows[0].least, 1);
  EXPECT_DOUBLE_EQ(rows[0].most, 2);
  EXPECT_DOUBLE_EQ(rows[0].mean(), 1.5);
}

TEST(Statistics, VirtualTimeIsNotAddedToRealTime) {
  std::vector<timeline::Lane> both = lanes();
  both.push_back({.number = 3,
                  .name = "compute",
                  .group = "gpu(0)",
                  .clock = timeline::Clock::kVirtual,
                  .events = {{"add", "operator", 0, 9e6}}});
  const auto sections = statistics(both, SortBy::kTotal, false);
  ASSERT_EQ(sections.size(), 5u);
  EXPECT_EQ(sections[3].category, "operator");
  EXPECT_DOUBLE_EQ(sections[3].rows[0].total, 3);
  EXPECT_EQ(sections[4].category, "operator (virtual time)");
  EXPECT_DOUBLE_EQ(sections[4].rows[0].total, 9);
}

TEST(Statistics, OrderByEveryKey) {
  const auto first = [](SortBy key, bool ascending) {
    return statistics(lanes(), key, ascending).back().rows.front().name;
  };
  EXPECT_EQ(first(SortBy::kTotal, true), "mul");
  EXPECT_EQ(first(SortBy::kCount, false), "add");
  EXPECT_EQ(first(SortBy::kAvg, true), "mul");
  EXPECT_EQ(first(SortBy::kMax, true), "mul");
  EXPECT_EQ(first(SortBy::kMin, false), "add");  // equal: by name
}

TEST(Statistics, TableHasMxnetsColumns) {
  const std::string table = statistics_table(statistics(lanes(), SortBy::kTotal, false));
  EXPECT_NE(table.find("\nProfile Statistics:\n"), std::string::npos);
  EXPECT_NE(table.find("Name                          Total Count        Time (ms)    Min Time (ms)    Max Time (ms)"
                       "    Avg Time (ms)\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("add                                     2           3.0000           1.0000           2.0000"
                       "           1.5000\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("Memory: cpu/0                           2           2.0000           4.0000"),
            std::string::npos);
}

TEST(Statistics, JsonHasTheSameNumbers) {
  const auto json = nlohmann::json::parse(statistics_json(statistics(lanes(), SortBy::kTotal, false)));
  EXPECT_EQ(json["Time"]["operator"]["add"]["Count"], 2);
  EXPECT_DOUBLE_EQ(json["Time"]["operator"]["add"]["Total"], 3);
  EXPECT_DOUBLE_EQ(json["Memory"]["Device Storage"]["Memory: cpu/0"]["Max"], 4);
  EXPECT_FALSE(json["Memory"]["Device Storage"]["Memory: cpu/0"].contains("Total"));
  EXPECT_DOUBLE_EQ(json["Counter"]["mine"]["images"]["Avg"], 7);
  EXPECT_EQ(json["Unit"]["Memory"], "kB");
  EXPECT_TRUE(nlohmann::json::parse(statistics_json({}))["Time"].empty());
}

}  // namespace
}  // namespace headrace::profiler
