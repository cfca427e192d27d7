#include "timeline/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "engine/engine.h"

namespace headrace {
namespace {

const timeline::Lane* lane_named(const std::vector<timeline::Lane>& lanes, const std::string& name) {
  const auto found = std::ranges::find(lanes, name, &timeline::Lane::name);
  return found == lanes.end() ? nullptr : &*found;
}

// Runs `body` in a thread whose lane has the given name.
template <class Body>
void in_thread(const std::string& name, Body body) {
  std::thread([&] {
    timeline::name_thread(name);
    body();
  }).join();
}

TEST(Trace, RecordsSpansInOrderWithTheirTimes) {
  timeline::start();
  in_thread("ordered", [] {
    for (int i = 0; i < 3; ++i) {
      timeline::Span span(i == 1 ? "middle" : "outer");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  timeline::stop();
  const auto lanes = timeline::collect();
  const timeline::Lane* lane = lane_named(lanes, "ordered");
  ASSERT_NE(lane, nullptr);
  ASSERT_EQ(lane->events.size(), 3u);
  EXPECT_STREQ(lane->events[1].name, "middle");
  EXPECT_EQ(lane->lost, 0u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GE(lane->events[i].end_ns - lane->events[i].begin_ns, 1.9e6);
    if (i > 0) {
      EXPECT_GE(lane->events[i].begin_ns, lane->events[i - 1].end_ns - 1e3);
    }
  }
}

TEST(Trace, MessagesHaveTheNumberThatAllEndsGiveThem) {
  timeline::start();
  const uint64_t number = timeline::message_number("request 7");
  in_thread("sender", [&] { timeline::sent({"request", timeline::kMessage}, number); });
  in_thread("receiver", [] {
    timeline::received({"request", timeline::kMessage}, timeline::message_number("request 7"));
    timeline::received({"request", timeline::kMessage}, timeline::message_number("request 8"));
  });
  timeline::stop();
  const auto lanes = timeline::collect();
  const timeline::Lane *from = lane_named(lanes, "sender"), *to = lane_named(lanes, "receiver");
  ASSERT_TRUE(from && to && from->messages.size() == 1 && to->messages.size() == 2);
  EXPECT_EQ(from->messages[0].number, number);
  EXPECT_FALSE(from->messages[0].is_received);
  EXPECT_EQ(to->messages[0].number, number);
  EXPECT_TRUE(to->messages[0].is_received);
  EXPECT_NE(to->messages[1].number, number);
  EXPECT_LE(from->messages[0].at_ns, to->messages[0].at_ns);
}

TEST(Trace, OffRecordsNothing) {
  timeline::start();
  timeline::stop();
  in_thread("silent", [] {
    timeline::Span span("span");
    timeline::counter("counter", 1);
  });
  const auto lanes = timeline::collect();
  const timeline::Lane* lane = lane_named(lanes, "silent");
  EXPECT_TRUE(!lane || (lane->events.empty() && lane->samples.empty()));
}

TEST(Trace, StartDropsWhatWasThere) {
  timeline::start();
  in_thread("dropped", [] { timeline::Span span("old"); });
  timeline::start();
  in_thread("dropped", [] { timeline::Span span("new"); });
  timeline::stop();
  const auto lanes = timeline::collect();
  const timeline::Lane* lane = lane_named(lanes, "dropped");
  ASSERT_NE(lane, nullptr);
  ASSERT_EQ(lane->events.size(), 1u);
  EXPECT_STREQ(lane->events[0].name, "new");
}

TEST(Trace, FullRingKeepsTheNewest) {
  timeline::start();
  constexpr int kRecords = 140'000;
  in_thread("full", [] {
    for (int i = 0; i < kRecords; ++i) timeline::counter("counter", i);
  });
  timeline::stop();
  const auto lanes = timeline::collect();
  const timeline::Lane* lane = lane_named(lanes, "full");
  ASSERT_NE(lane, nullptr);
  ASSERT_FALSE(lane->samples.empty());
  EXPECT_EQ(lane->samples.back().value, kRecords - 1);
  EXPECT_EQ(lane->samples.front().value, static_cast<int64_t>(lane->lost));
  EXPECT_EQ(lane->samples.size() + lane->lost, static_cast<size_t>(kRecords));
}

TEST(Trace, CollectWhileThreadsRecord) {
  timeline::start();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    timeline::name_thread("busy");
    for (int64_t i = 0; !stop; ++i) timeline::counter("counter", i);
  });
  for (int round = 0; round < 20; ++round) {
    const auto lanes = timeline::collect();
    const timeline::Lane* lane = lane_named(lanes, "busy");
    if (!lane) continue;
    for (size_t i = 1; i < lane->samples.size(); ++i) ASSERT_EQ(lane->samples[i].value, lane->samples[i - 1].value + 1);
  }
  stop = true;
  writer.join();
  timeline::stop();
}

TEST(Trace, InternGivesOnePointerPerText) {
  const char* a = timeline::intern("some text");
  EXPECT_EQ(a, timeline::intern(std::string("some ") + "text"));
  EXPECT_STREQ(a, "some text");
}

TEST(Trace, OnlyTheChosenSources) {
  timeline::start(timeline::Source::kGraphSteps | timeline::Source::kMemory);
  in_thread("chosen", [] {
    timeline::Span task("task");
    timeline::Span step({"step", timeline::kGraphStep});
    timeline::counter({"bytes", timeline::kDeviceMemory}, 1);
    timeline::counter({"images", timeline::annotation_category("mine")}, 1);
    timeline::mark({"mark", timeline::annotation_category("mine")}, timeline::Scope::kThread);
  });
  EXPECT_TRUE(timeline::enabled(timeline::Source::kMemory));
  EXPECT_FALSE(timeline::enabled(timeline::Source::kOperators));
  timeline::stop();
  const auto lanes = timeline::collect();
  const timeline::Lane* lane = lane_named(lanes, "chosen");
  ASSERT_NE(lane, nullptr);
  ASSERT_EQ(lane->events.size(), 1u);
  EXPECT_STREQ(lane->events[0].name, "step");
  ASSERT_EQ(lane->samples.size(), 1u);
  EXPECT_STREQ(lane->samples[0].category, "Device Storage");
  EXPECT_TRUE(lane->marks.empty());
}

TEST(Trace, ResumeKeepsTheChoice) {
  timeline::start(static_cast<timeline::Sources>(timeline::Source::kCalls));
  timeline::stop();
  timeline::resume();
  EXPECT_TRUE(timeline::enabled(timeline::Source::kCalls));
  EXPECT_FALSE(timeline::enabled(timeline::Source::kOperators));
  timeline::stop();
}

TEST(Trace, SectionsArePartsOfTheRecording) {
  const timeline::Track track("parts", "links");
  const auto names = [](timeline::Extent extent) {
    std::vector<std::string> found;
    for (const auto& lane : timeline::collect(extent))
      for (const auto& event : lane.events)
        if (lane.name == "parts") found.push_back(event.name);
    return found;
  };
  using Names = std::vector<std::string>;
  timeline::start();
  track.record("one", 1, 2);
  EXPECT_EQ(names(timeline::Extent::kSection), Names{"one"});
  timeline::begin_section();
  EXPECT_EQ(names(timeline::Extent::kSection), Names{});
  track.record("two", 3, 4);
  EXPECT_EQ(names(timeline::Extent::kSection), Names{"two"});
  EXPECT_EQ(names(timeline::Extent::kRecording), (Names{"one", "two"}));
  timeline::start();
  track.record("three", 5, 6);
  timeline::stop();
  EXPECT_EQ(names(timeline::Extent::kSection), Names{"three"});
  EXPECT_EQ(names(timeline::Extent::kRecording), Names{"three"});
}

TEST(Trace, CategoriesOfOneNameAreOne) {
  EXPECT_EQ(&timeline::annotation_category("a domain"), &timeline::annotation_category(std::string("a ") + "domain"));
}

TEST(Trace, TracksAreLanesInTheirOwnTime) {
  const timeline::Track compute("compute", "gpu(0)", timeline::Clock::kVirtual);
  timeline::start();
  std::thread other([] { timeline::Track("compute", "gpu(0)", timeline::Clock::kVirtual).record("dot", 2000, 3000); });
  other.join();
  compute.record("add", 0, 500);
  timeline::Track("compute", "gpu(1)", timeline::Clock::kVirtual).record("copy", 10, 20);
  timeline::stop();
  compute.record("off", 0, 1);
  int found = 0;
  for (const auto& lane : timeline::collect()) {
    if (lane.name != "compute") continue;
    EXPECT_EQ(lane.clock, timeline::Clock::kVirtual);
    if (lane.group != "gpu(0)") continue;
    ++found;
    ASSERT_EQ(lane.events.size(), 2u);
    EXPECT_STREQ(lane.events[0].name, "dot");
    EXPECT_DOUBLE_EQ(lane.events[0].begin_ns, 2000);
    EXPECT_DOUBLE_EQ(lane.events[1].end_ns, 500);
  }
  EXPECT_EQ(found, 1);
}

TEST(Trace, ManyThreadsShareOneTrack) {
  const timeline::Track track("shared", "links");
  timeline::start();
  constexpr int kThreads = 4, kRecords = 1000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < kRecords; ++j) track.record("copy", ticks(), ticks());
    });
  for (std::thread& thread : threads) thread.join();
  timeline::stop();
  const auto lanes = timeline::collect();
  const timeline::Lane* lane = lane_named(lanes, "shared");
  ASSERT_NE(lane, nullptr);
  EXPECT_EQ(lane->events.size(), static_cast<size_t>(kThreads * kRecords));
}

TEST(Trace, QueuedTasksKnowWhereTheyWerePushed) {
  Config config;
  config.workers = 1;
  Engine engine(config);
  Var x;
  std::array<Var*, 1> writes{&x};
  timeline::start();
  in_thread("pusher", [&] {
    engine.push({.name = "queued", .writes = writes, .cost_ns = 1e6}, [] {});
    engine.wait_to_read(x);
  });
  timeline::stop();
  const auto lanes = timeline::collect();
  const timeline::Lane* pusher = lane_named(lanes, "pusher");
  ASSERT_NE(pusher, nullptr);
  int found = 0;
  for (const auto& lane : lanes)
    for (const auto& event : lane.events) {
      if (event.name != std::string("queued")) continue;
      ++found;
      EXPECT_EQ(event.origin_lane, pusher->number);
      EXPECT_GT(event.origin_ns, 0);
      EXPECT_LE(event.origin_ns, event.begin_ns);
    }
  EXPECT_EQ(found, 1);
}

TEST(Trace, EngineNamesTasks) {
  Engine engine(Config{});
  Var x;
  std::array<Var*, 1> writes{&x};
  timeline::start();
  engine.push({.name = "cheap task", .writes = writes}, [] {});
  engine.push({.name = "dear task", .writes = writes, .cost_ns = 1e5}, [] {});
  engine.wait_to_read(x);
  engine.wait_all();
  timeline::stop();
  bool cheap = false, dear = false;
  for (const auto& lane : timeline::collect()) {
    for (const auto& event : lane.events) {
      cheap |= event.name == std::string("cheap task");
      dear |= event.name == std::string("dear task");
    }
  }
  EXPECT_TRUE(cheap);
  EXPECT_TRUE(dear);
}

}  // namespace
}  // namespace headrace
