// The timeline file: its lanes, bars, arrows, counters and marks, read back as JSON.
#include "profiler/chrome_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "headrace/error.hpp"

namespace headrace::profiler {
namespace {

using Json = nlohmann::json;
using timeline::Clock;
using timeline::Lane;

Json written(const std::vector<Lane>& lanes) {
  std::ostringstream out;
  write_chrome_trace(lanes, out);
  return Json::parse(out.str());
}

std::vector<Json> with_phase(const Json& document, const std::string& phase) {
  std::vector<Json> found;
  for (const Json& event : document["traceEvents"])
    if (event["ph"] == phase) found.push_back(event);
  return found;
}

std::vector<Lane> two_threads() {
  return {{.number = 1,
           .name = "worker \"1\"",
           .events = {{"add", "operator", 1000, 3000}, {"mul", "operator", 3000, 4000}},
           .samples = {{"bytes", "Device Storage", 2000, 64}}},
          {.number = 2, .name = "empty"},
          {.number = 3, .name = "main", .events = {{"add", "operator", 500, 1500}}, .lost = 5}};
}

TEST(ChromeTrace, OneLanePerThreadThatRecorded) {
  const Json document = written(two_threads());
  const auto bars = with_phase(document, "X");
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_EQ(bars[0]["name"], "add");
  EXPECT_EQ(bars[0]["cat"], "operator");
  EXPECT_EQ(bars[0]["tid"], 1);
  EXPECT_DOUBLE_EQ(bars[0]["ts"], 0.5);
  EXPECT_DOUBLE_EQ(bars[0]["dur"], 2);
  EXPECT_DOUBLE_EQ(bars[2]["ts"], 0);
  std::vector<std::string> names;
  for (const Json& event : with_phase(document, "M"))
    if (event["name"] == "thread_name") names.push_back(event["args"]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"worker \"1\"", "main"}));
  const auto samples = with_phase(document, "C");
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0]["args"]["value"], 64);
  EXPECT_EQ(document["otherData"]["lost"], 5);
}

TEST(ChromeTrace, NothingRecordedIsStillATimeline) { EXPECT_EQ(written({})["traceEvents"], Json::array()); }

TEST(ChromeTrace, GroupsAreProcessesAndSimulatedClocksKeepTheirZero) {
  const std::vector<Lane> lanes{{.number = 1, .name = "main", .events = {{"add", "operator", 5000, 6000}}},
                                {.number = 2,
                                 .name = "compute",
                                 .group = "gpu(0)",
                                 .clock = Clock::kVirtual,
                                 .events = {{"dot", "operator", 250, 750}}},
                                {.number = 3,
                                 .name = "copies",
                                 .group = "gpu(0)",
                                 .clock = Clock::kVirtual,
                                 .events = {{"copy", "operator", 0, 9}}}};
  const Json document = written(lanes);
  const auto bars = with_phase(document, "X");
  EXPECT_DOUBLE_EQ(bars[0]["ts"], 0);
  EXPECT_DOUBLE_EQ(bars[1]["ts"], 0.25);
  EXPECT_NE(bars[0]["pid"], bars[1]["pid"]);
  EXPECT_EQ(bars[1]["pid"], bars[2]["pid"]);
  const auto metadata = with_phase(document, "M");
  const auto labels = std::ranges::find(metadata, "process_labels", [](const Json& event) { return event["name"]; });
  ASSERT_NE(labels, metadata.end());
  EXPECT_EQ((*labels)["pid"], bars[1]["pid"]);
  EXPECT_EQ((*labels)["args"]["labels"], "virtual time");
}

TEST(ChromeTrace, ArrowsGoFromThePushToTheBar) {
  const std::vector<Lane> lanes{
      {.number = 1, .name = "main", .events = {{"add", "operator", 1000, 2000}}},
      {.number = 2, .name = "worker", .events = {{"dot", "operator", 4000, 9000, false, 1, 3000}}},
      {.number = 3, .name = "gpu", .clock = Clock::kVirtual, .events = {{"dot", "operator", 0, 9, false, 1, 3000}}},
      {.number = 5, .name = "alone", .events = {{"dot", "operator", 4000, 9000, false, 5, 3500}}},
      {.number = 4, .name = "other", .events = {{"dot", "operator", 4000, 9000, false, 77, 3000}}}};
  const Json document = written(lanes);
  const auto tails = with_phase(document, "s"), heads = with_phase(document, "f");
  ASSERT_EQ(tails.size(), 1u);  // not across clocks, from a lane that is not there, or for what ran at once
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(tails[0]["id"], heads[0]["id"]);
  EXPECT_EQ(tails[0]["tid"], 1);
  EXPECT_DOUBLE_EQ(tails[0]["ts"], 2);
  EXPECT_EQ(heads[0]["tid"], 2);
  EXPECT_DOUBLE_EQ(heads[0]["ts"], 3);
}

TEST(ChromeTrace, AsynchronousSpansAndMarks) {
  const std::vector<Lane> lanes{{.number = 1,
                                 .name = "main",
                                 .events = {{"epoch", "mine", 1000, 3000, true}, {"epoch", "mine", 2000, 4000, true}},
                                 .marks = {{"here", "mine", 1500, timeline::Scope::kThread}}}};
  const Json document = written(lanes);
  const auto begins = with_phase(document, "b"), ends = with_phase(document, "e"), marks = with_phase(document, "i");
  ASSERT_EQ(begins.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(begins[0]["id"], ends[0]["id"]);
  EXPECT_NE(begins[0]["id"], begins[1]["id"]);
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0]["s"], "t");
}

TEST(ChromeTrace, NamesThatAreNoUtf8) {
  const std::string name = "\xff\x01\"";
  const Json document = written({{.number = 1, .name = name, .events = {{name.c_str(), "operator", 0, 1}}}});
  EXPECT_NE(with_phase(document, "X")[0]["name"].get<std::string>().find('"'), std::string::npos);
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

TEST(ChromeTrace, MessagesAreTheEndsOfArrows) {
  const Lane lane{.number = 4,
                  .name = "server",
                  .events = {{"serve push", "operator", 1000, 3000}},
                  .messages = {{"request", "message", 1500, 0xabcd, true}, {"answer", "message", 2500, 0x12, false}}};
  const Json document = written({lane});
  const auto heads = with_phase(document, "f"), tails = with_phase(document, "s");
  ASSERT_TRUE(heads.size() == 1 && tails.size() == 1);
  EXPECT_EQ(heads[0]["id"], "000000000000abcd");
  EXPECT_EQ(heads[0]["cat"], "message");
  EXPECT_DOUBLE_EQ(heads[0]["ts"], 0.5);
  EXPECT_EQ(tails[0]["id"], "0000000000000012");
  EXPECT_EQ(tails[0]["name"], "answer");
  EXPECT_EQ(tails[0]["tid"], 4);
}

TEST(ChromeTrace, SaysWhenItBegan) {
  const Moment moment{.steady_ns = 5000, .unix_ns = 1e15, .machine = "here"};
  std::ostringstream out;
  write_chrome_trace(two_threads(), out, &moment);
  const Json clock = Json::parse(out.str())["otherData"]["clock"];
  EXPECT_EQ(clock["machine"], "here");
  EXPECT_DOUBLE_EQ(clock["steady_ns"], 500);
  EXPECT_DOUBLE_EQ(clock["unix_ns"], 1e15 - 4500);
  EXPECT_FALSE(written(two_threads())["otherData"].contains("clock"));
  EXPECT_GT(now().unix_ns, 1.7e18);
}

}  // namespace
}  // namespace headrace::profiler
