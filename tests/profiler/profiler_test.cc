// The public interface: sessions, annotations, memory.
#include "headrace/profiler.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "engine/runtime.h"
#include "headrace/error.hpp"
#include "headrace/memory.hpp"
#include "headrace/ndarray.hpp"
#include "tests/support/files.h"
#include "timeline/timeline.h"

namespace headrace::profiler {
namespace {

using Json = nlohmann::json;

// Default settings, a file and a table of its own, and nothing recorded at the end.
class Profiler : public ::testing::Test {
 protected:
  Profiler() {
    set_config({.filename = path_});
    static_cast<void>(dumps({.reset = true}));
  }
  ~Profiler() override {
    stop();
    set_config({});
    std::filesystem::remove(path_);
  }

  Json statistics() const { return Json::parse(dumps({.format = Format::kJson})); }
  Json file() const {
    std::ifstream in(path_);
    return Json::parse(in);
  }

  const std::string path_ = own_path("profile.json");
};

// Four MiB.
NDArray megafloat() {
  const std::vector<float> values(1 << 20);
  return NDArray::from<float>(values, {1 << 20});
}

void run_task(const char* name) {
  Var var;
  std::array<Var*, 1> writes{&var};
  runtime().engine.push({.name = name, .writes = writes}, [] {});
  runtime().engine.wait_to_read(var);
}

TEST_F(Profiler, RecordsBetweenStartAndStopOnly) {
  run_task("before");
  start();
  EXPECT_TRUE(is_recording());
  run_task("during");
  pause();
  run_task("paused");
  resume();
  run_task("resumed");
  stop();
  EXPECT_FALSE(is_recording());
  run_task("after");
  const Json operators = statistics()["Time"]["operator"];
  EXPECT_TRUE(operators.contains("during") && operators.contains("resumed"));
  EXPECT_FALSE(operators.contains("before") || operators.contains("paused") || operators.contains("after"));
}

TEST_F(Profiler, DumpWritesTheFileAndEndsTheRecording) {
  start();
  run_task("one");
  dump(false);
  EXPECT_TRUE(is_recording());
  run_task("two");
  dump();
  EXPECT_FALSE(is_recording());
  int found = 0;
  const Json document = file();
  for (const Json& event : document["traceEvents"])
    found += event.value("cat", "") == "operator" && (event["name"] == "one" || event["name"] == "two");
  EXPECT_EQ(found, 2);
}

TEST_F(Profiler, ResetBeginsANewTableAndKeepsTheTimeline) {
  start();
  run_task("old");
  EXPECT_NE(dumps({.reset = true}).find("old"), std::string::npos);
  run_task("new");
  const Json operators = statistics()["Time"]["operator"];
  EXPECT_FALSE(operators.contains("old"));
  EXPECT_TRUE(operators.contains("new"));
  dump();
  int found = 0;
  const Json document = file();
  for (const Json& event : document["traceEvents"])
    found += event.value("cat", "") == "operator" && (event["name"] == "old" || event["name"] == "new");
  EXPECT_EQ(found, 2);
}

TEST_F(Profiler, ATableHasWhatAllRunsRecorded) {
  for (const char* name : {"first", "second"}) {
    start();
    run_task(name);
    stop();
  }
  const Json operators = statistics()["Time"]["operator"];
  EXPECT_TRUE(operators.contains("first") && operators.contains("second"));
}

TEST_F(Profiler, WhatIsLeftOutIsNotRecorded) {
  set_config({.imperative = false, .memory = false, .filename = path_});
  start();
  run_task("left out");
  Event event("kept");
  event.start();
  event.stop();
  Json json = statistics();
  EXPECT_FALSE(json["Time"].contains("operator"));
  EXPECT_EQ(json["Time"]["event"]["kept"]["Count"], 1);
  EXPECT_TRUE(json["Memory"].empty());
  set_config({.all = true, .imperative = false, .filename = path_});
  start();
  run_task("recorded");
  EXPECT_TRUE(statistics()["Time"]["operator"].contains("recorded"));
}

TEST_F(Profiler, MemoryHasItsCurve) {
  start();
  { const NDArray array = megafloat(); }
  stop();
  const Json memory = statistics()["Memory"]["Device Storage"];
  EXPECT_GE(memory["Memory: cpu/0"]["Max"].get<double>() - memory["Memory: cpu/0"]["Min"].get<double>(), 4194.304);
  EXPECT_GE(memory["Peak memory: cpu/0"]["Max"], memory["Memory: cpu/0"]["Max"]);
  EXPECT_TRUE(memory.contains("Pooled memory: cpu/0"));
}

TEST_F(Profiler, AnnotationsOfADomain) {
  const Domain domain("training");
  Task task = domain.new_task("epoch");
  Frame frame = domain.new_frame("picture");
  Counter counter = domain.new_counter("images", 5);
  start();
  task.stop();  // not started
  task.start();
  frame.start();
  std::thread([&] { task.stop(); }).join();
  frame.stop();
  frame.stop();  // not started again
  counter += 3;
  counter -= 1;
  counter.set_value(2);
  domain.new_marker("here").mark("global");
  EXPECT_THROW(domain.new_marker("here").mark("nowhere"), Error);
  stop();
  counter.increment();
  EXPECT_EQ(counter.value(), 3);
  const Json json = statistics();
  EXPECT_EQ(json["Time"]["training"]["epoch"]["Count"], 1);
  EXPECT_EQ(json["Time"]["training,frame"]["picture"]["Count"], 1);
  EXPECT_EQ(json["Counter"]["training"]["images"]["Count"], 3);
  EXPECT_EQ(json["Counter"]["training"]["images"]["Max"], 8);
  size_t marks = 0;
  for (const timeline::Lane& lane : timeline::collect()) marks += lane.marks.size();
  EXPECT_EQ(marks, 1u);
}

TEST_F(Profiler, ScopesNest) {
  start();
  {
    const Scope outer("epoch 1");
    const Scope inner("forward:");
    EXPECT_EQ(inner.name(), "epoch 1:forward:");
    const Scope alone("data", false);
    EXPECT_EQ(alone.name(), "data:");
  }
  EXPECT_EQ(Scope("next").name(), "next:");
  const Json scopes = statistics()["Time"]["scope"];
  EXPECT_EQ(scopes["epoch 1:forward:"]["Count"], 1);
  EXPECT_GE(scopes["epoch 1:"]["Total"], scopes["epoch 1:forward:"]["Total"]);
}

TEST_F(Profiler, ContinuousDumpWritesWhileRecording) {
  set_config({.filename = path_, .continuous_dump = true, .dump_period = 0.01});
  start();
  run_task("early");
  for (int tries = 0; tries < 1000 && !std::filesystem::exists(path_); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_TRUE(is_recording());
  run_task("late");
  stop();
  const Json events = file()["traceEvents"];
  EXPECT_TRUE(std::ranges::any_of(events, [](const Json& event) { return event["name"] == "late"; }));
  EXPECT_THROW(set_config({.dump_period = 0}), Error);
}

TEST_F(Profiler, AForkedChildHasNoPeriodicDump) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' heaps do not survive a fork beside running threads";
#endif
  set_config({.filename = path_, .continuous_dump = true, .dump_period = 0.01});
  start();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    stop();
    start();
    stop();
    _exit(is_recording() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Profiler, AFailedOperationEndsTheRecordingAllTheSame) {
  start();
  Var var;
  std::array<Var*, 1> writes{&var};
  runtime().engine.push({.name = "fails", .writes = writes}, [] { throw Error(ErrorKind::kValue, "no"); });
  EXPECT_THROW(stop(), Error);
  EXPECT_FALSE(is_recording());
}

TEST(MemoryReport, CountsLiveBytes) {
  const auto live = [] { return memory_report().front().live; };
  const int64_t before = live();
  const NDArray array = megafloat();
  EXPECT_GE(live() - before, int64_t{4} << 20);
  const auto report = memory_report();
  EXPECT_EQ(report.front().device, Device{});
  EXPECT_GE(report.front().peak, report.front().live);
  EXPECT_NE(to_string(report).find("cpu(0)"), std::string::npos);
}

}  // namespace
}  // namespace headrace::profiler
