#include "hardware/topology.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/check.h"

namespace headrace::hardware {
namespace {

namespace fs = std::filesystem;

// A folder as the system's, made by hand; gone after the test.
class ProcessorFolder : public testing::Test {
 protected:
  ProcessorFolder() : folder_(fs::path(testing::TempDir()) / fmt::format("processors-{}", getpid())) {}
  ~ProcessorFolder() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text << '\n';
  }
  void add(int number, int core, int package, int node) {
    const std::string name = fmt::format("cpu{}", number);
    write(name + "/topology/core_id", std::to_string(core));
    write(name + "/topology/physical_package_id", std::to_string(package));
    fs::create_directories(folder_ / name / fmt::format("node{}", node));
  }
  std::vector<Processor> read(std::vector<int> numbers) { return read_processors(numbers, folder_.string()); }

  const fs::path folder_;
};

TEST_F(ProcessorFolder, PartnersOfTheFirst) {
  add(0, 0, 0, 0);
  add(1, 0, 0, 0);  // the second thread of core 0
  add(2, 1, 0, 0);
  add(3, 0, 1, 1);
  const auto processors = read({0, 1, 2, 3});
  EXPECT_EQ(in_other_core(processors)->number, 2);
  EXPECT_EQ(in_other_package(processors)->number, 3);
  EXPECT_EQ(at_other_memory(processors)->number, 3);
}

TEST_F(ProcessorFolder, OnlyAllowedProcessorsAreSeen) {
  add(0, 0, 0, 0);
  add(1, 0, 0, 0);
  add(2, 1, 0, 0);
  const auto processors = read({1, 0});
  EXPECT_EQ(processors.front().number, 1);
  EXPECT_FALSE(in_other_core(processors));
  EXPECT_FALSE(in_other_package(processors));
  EXPECT_FALSE(at_other_memory(processors));
}

TEST_F(ProcessorFolder, WhatIsNotToldMeansSeparateCores) {
  const auto processors = read({4, 6});
  ASSERT_EQ(processors.size(), 2u);
  EXPECT_EQ(in_other_core(processors)->number, 6);
  EXPECT_FALSE(in_other_package(processors));
}

TEST_F(ProcessorFolder, SizesOfDataCaches) {
  const auto cache = [&](int index, const char* level, const char* type, const char* size) {
    const std::string name = fmt::format("cpu0/cache/index{}/", index);
    write(name + "level", level);
    write(name + "type", type);
    write(name + "size", size);
  };
  cache(0, "1", "Instruction", "64K");
  cache(1, "1", "Data", "48K");
  cache(2, "2", "Unified", "2M");
  cache(3, "3", "Unified", "?");
  const auto told = [&](int level) { return told_cache_bytes(0, level, folder_.string()); };
  EXPECT_EQ(told(1), 48u << 10);
  EXPECT_EQ(told(2), 2u << 20);
  EXPECT_EQ(told(3), 0u);
  EXPECT_EQ(told(4), 0u);
  EXPECT_EQ(told_cache_bytes(7, 1, folder_.string()), 0u);
}

TEST(RunOn, EachBodyOnceAndTogether) {
  const std::vector<int> allowed = allowed_processors();
  ASSERT_FALSE(allowed.empty());
  const std::vector<int> processors(3, allowed.front());
  std::atomic<int> sum{0};
  run_on(processors, [&](size_t index) { sum += 1 << (4 * index); });
  EXPECT_EQ(sum, 0x111);
}

TEST(RunOn, RaisesWhatABodyThrows) {
  const std::vector<int> processors(2, allowed_processors().front());
  const auto body = [](size_t index) {
    if (index == 1) throw std::runtime_error("second");
  };
  EXPECT_THROW(run_on(processors, body), std::runtime_error);
}

}  // namespace
}  // namespace headrace::hardware
