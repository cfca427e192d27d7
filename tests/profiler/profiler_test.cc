#include <gtest/gtest.h>

#include <sstream>

#include "headrace/error.hpp"
#include "profiler/chrome_trace.h"
#include "profiler/summary.h"

namespace headrace::profiler {
namespace {

std::vector<trace::Lane> two_lanes() {
  return {{1, "worker \"1\"", {{"add", 1000, 3000}, {"mul", 3000, 4000}}, {{"bytes", 2000, 64}}, 0},
          {2, "empty", {}, {}, 0},
          {3, "main", {{"add", 500, 1500}}, {}, 0}};
}

TEST(ChromeTrace, OneLanePerThreadThatRecorded) {
  std::ostringstream out;
  write_chrome_trace(two_lanes(), out);
  const std::string text = out.str();
  EXPECT_NE(text.find(R"("args": {"name": "worker \"1\""})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("name": "add", "ph": "X")"), std::string::npos);
  EXPECT_NE(text.find(R"("tid": 1, "ts": 0.500, "dur": 2.000)"), std::string::npos);
  EXPECT_NE(text.find(R"("tid": 3, "ts": 0.000, "dur": 1.000)"), std::string::npos);
  EXPECT_NE(text.find(R"("ph": "C")"), std::string::npos);
  EXPECT_NE(text.find(R"("args": {"value": 64})"), std::string::npos);
  EXPECT_EQ(text.find(R"("tid": 2)"), std::string::npos);
  EXPECT_EQ(text.find(",\n]"), std::string::npos);
}

TEST(ChromeTrace, NothingRecordedIsStillATimeline) {
  std::ostringstream out;
  write_chrome_trace({}, out);
  EXPECT_EQ(out.str(), "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n]}\n");
}

TEST(ChromeTrace, FileThatCannotBeWritten) {
  try {
    save_chrome_trace("/no/such/folder/timeline.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOs);
    EXPECT_NE(std::string(error.what()).find("/no/such/folder"), std::string::npos);
  }
}

TEST(Summary, RowsByTotalTime) {
  const auto rows = summarize(two_lanes());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "add");
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_DOUBLE_EQ(rows[0].total_us, 3.0);
  EXPECT_DOUBLE_EQ(rows[0].mean_us(), 1.5);
  EXPECT_DOUBLE_EQ(rows[0].least_us, 1.0);
  EXPECT_DOUBLE_EQ(rows[0].most_us, 2.0);
  EXPECT_EQ(rows[1].name, "mul");
  const std::string table = summary_table(rows);
  EXPECT_NE(table.find("75.0%"), std::string::npos) << table;
}

}  // namespace
}  // namespace headrace::profiler
