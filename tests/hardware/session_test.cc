#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/check.h"
#include "headrace/hardware.hpp"
#include "headrace/sim.hpp"

namespace headrace::hardware {
namespace {

std::vector<std::string> names(std::initializer_list<const char*> list) { return {list.begin(), list.end()}; }

void expect_value_or_reason(const Measurement& measurement) {
  SCOPED_TRACE(std::string(measurement.name));
  if (measurement.measured()) {
    EXPECT_TRUE(std::isfinite(measurement.value));
    EXPECT_GT(measurement.value, 0);
  } else {
    EXPECT_EQ(measurement.value, 0);
    EXPECT_TRUE(measurement.note.empty());
  }
}

TEST(Catalogue, NamesAreUniqueAndDescribed) {
  std::set<std::string_view> seen;
  for (const Description& description : descriptions()) {
    EXPECT_TRUE(seen.insert(description.name).second) << description.name;
    EXPECT_EQ(description.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos);
    EXPECT_FALSE(description.what.empty()) << description.name;
    EXPECT_FALSE(seen.contains(description.subject)) << "a subject has the name of a measurement";
  }
}

TEST(Catalogue, EveryFigureOfTheBookStandsBesideAMeasurementOfATime) {
  std::set<std::string_view> used;
  for (const Description& description : descriptions()) {
    for (const BookFigure& figure : description.book) {
      used.insert(figure.action);
      EXPECT_EQ(description.unit, Unit::kSeconds) << description.name;
    }
  }
  std::set<std::string_view> all;
  for (const BookFigure& figure : book()) {
    EXPECT_TRUE(used.contains(figure.action)) << figure.action;
    EXPECT_TRUE(all.insert(figure.action).second) << figure.action;
  }
}

TEST(Select, SubjectsAndNamesInTheOrderOfTheTable) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(select({}).size(), descriptions().size());
  EXPECT_EQ(select(names({"mutex", "l1_latency", "mutex"})), (Names{"l1_latency", "mutex"}));
  const Names disk = select(names({"disk", "disk_read_4k"}));
  EXPECT_EQ(disk, (Names{"disk_read_4k", "disk_read_1m", "disk_write_4k"}));
}

TEST(Select, UnknownNamesAreToldWithTheSubjects) {
  try {
    select(names({"mutex", "l9_latency"}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kValue);
    EXPECT_NE(std::string(error.what()).find("'l9_latency'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("caches, cores, memory"), std::string::npos) << error.what();
  }
  EXPECT_THROW(Session().measure("caches"), Error);
}

TEST(Session, SlowEveryMeasurementHasAValueOrAReason) {
  Session session({.quick = true});
  EXPECT_TRUE(session.latency_curve().empty());
  std::vector<Measurement> measurements;
  for (const Description& description : descriptions()) {
    measurements.push_back(session.measure(description.name));
    EXPECT_EQ(measurements.back().name, description.name);
    EXPECT_EQ(measurements.back().unit, description.unit);
    expect_value_or_reason(measurements.back());
  }
  EXPECT_GT(session.latency_curve().size(), 2u);
  const std::string text = table(measurements);
  for (const Measurement& measurement : measurements)
    EXPECT_NE(text.find('\n' + std::string(measurement.name) + ' '), std::string::npos) << measurement.name;
}

TEST(Session, WhatNeedsNothingSpecialIsMeasured) {
  Session session({.quick = true});
  for (const char* name : {"mutex", "thread_start", "thread_wake", "float_add", "vector_adds", "operation_push"}) {
    const Measurement measurement = session.measure(name);
    EXPECT_TRUE(measurement.measured()) << name << ": " << measurement.why_not;
    expect_value_or_reason(measurement);
  }
}

TEST(Session, DiskInAFolderLeavesNothingBehind) {
  const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("hardware-{}", getpid());
  std::filesystem::create_directories(folder);
  {
    Session session({.directory = folder.string(), .quick = true});
    const Measurement read = session.measure("disk_read_4k");
    EXPECT_TRUE(read.measured()) << read.why_not;
    EXPECT_NE(read.note.find("99 %"), std::string::npos) << read.note;
    EXPECT_TRUE(session.measure("disk_read_1m").measured());
    EXPECT_TRUE(session.measure("disk_write_4k").measured());
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  EXPECT_TRUE(std::filesystem::remove(folder));
}

TEST(Session, SimulatedGpusAreNoHardware) {
  sim::configure({.gpus = 1});
  Session session({.quick = true});
  for (const char* name : {"gpu_launch", "gpu_copy_to_1m", "gpu_copy_from_1m"}) {
    const Measurement measurement = session.measure(name);
    EXPECT_TRUE(measurement.measured()) << measurement.why_not;
    EXPECT_NE(measurement.note.find("the GPU is simulated: no hardware is measured"), std::string::npos) << name;
  }
  sim::configure({});
  EXPECT_EQ(session.measure("gpu_launch").why_not, "no accelerator here");
}

TEST(Session, AFolderThatCannotBeUsedIsToldAndTheRestGoesOn) {
  for (const char* folder : {"/no/such/folder", "/proc"}) {
    errno = ENOTTY;  // of an earlier call that has nothing to do with it
    Session session({.directory = folder, .quick = true});
    for (const char* name : {"disk_read_4k", "disk_read_1m", "disk_write_4k"}) {
      const Measurement disk = session.measure(name);
      EXPECT_FALSE(disk.measured());
      EXPECT_NE(disk.why_not.find(folder), std::string::npos) << disk.why_not;
      EXPECT_EQ(disk.why_not.find(std::strerror(ENOTTY)), std::string::npos) << disk.why_not;
    }
    EXPECT_TRUE(session.measure("mutex").measured());
  }
}

TEST(Table, ShowsValuesReasonsNotesAndTheBook) {
  const std::string text = table(std::vector<Measurement>{
      {"l1_latency", 1.25e-9, Unit::kSeconds, "chase through 16 KiB", ""},
      {"disk_read_4k", 0, Unit::kSeconds, "", "no room"},
  });
  EXPECT_NE(text.find("\ncaches\nl1_latency"), std::string::npos) << text;
  EXPECT_NE(text.find("1.25 ns"), std::string::npos) << text;
  EXPECT_NE(text.find("1.5 ns  L1 cache hit; chase through 16 KiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("-  120 us, 500 us, 10 ms  read 4 KB at random places; not measured: no room\n"),
            std::string::npos)
      << text;
}

TEST(ValueText, ThreeDigitsAndAPrefix) {
  EXPECT_EQ(value_text(1.5e-9, Unit::kSeconds), "1.5 ns");
  EXPECT_EQ(value_text(4e-10, Unit::kSeconds), "0.4 ns");
  EXPECT_EQ(value_text(999.96e-9, Unit::kSeconds), "1 us");
  EXPECT_EQ(value_text(208.4e-6, Unit::kSeconds), "208 us");
  EXPECT_EQ(value_text(12.34, Unit::kSeconds), "12.3 s");
  EXPECT_EQ(value_text(32768, Unit::kBytes), "32 KiB");
  EXPECT_EQ(value_text(1.81e11, Unit::kOperationsPerSecond), "181 Gop/s");
  EXPECT_EQ(value_text(9.5e9, Unit::kBytesPerSecond), "9.5 GB/s");
  EXPECT_EQ(value_text(100, Unit::kBytes), "100 B");
}

}  // namespace
}  // namespace headrace::hardware
