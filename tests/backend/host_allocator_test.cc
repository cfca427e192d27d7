#include "backend/cpu/host_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "headrace/error.hpp"
#include "timeline/timeline.h"

namespace headrace {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

size_t rounded(size_t bytes) { return size_class::size(size_class::of(std::max<size_t>(bytes, 1))); }

// The one allocator of the process, without anything pooled; nothing is live between these tests.
HostAllocator& fresh_allocator() {
  HostAllocator& allocator = host_allocator();
  allocator.trim();
  allocator.reset_peak();
  return allocator;
}

TEST(SizeClass, EveryClassHoldsItsOwnSizeAndWastesAnEighthAtMost) {
  for (int index = 0; index < size_class::kCount; ++index) {
    const size_t size = size_class::size(index);
    EXPECT_EQ(size_class::of(size), index);
    EXPECT_EQ(size_class::of(size + 1), index + 1);
    EXPECT_EQ(size % 64, 0u);
  }
  for (size_t bytes : {1025u, 5000u, 70'000u, 1'000'001u, 999'999'999u}) {
    EXPECT_GE(rounded(bytes), bytes);
    EXPECT_LE(static_cast<double>(rounded(bytes)), static_cast<double>(bytes) * 1.126);
  }
}

TEST(HostAllocator, OneBlockServesScratchOfManySizes) {
  if (!kMemoryIsPooled) GTEST_SKIP() << "every block has memory of its own";
  HostAllocator& allocator = fresh_allocator();
  for (size_t bytes : {9 * kMiB, 4 * kMiB, 3 * kMiB, 9 * kMiB}) {
    const ScratchBlock block = allocator.allocate_scratch(bytes);
    std::memset(block.data, 1, bytes);
    EXPECT_GE(block.bytes, bytes);
    EXPECT_EQ(allocator.stats().live, static_cast<int64_t>(rounded(9 * kMiB)));
    allocator.release(block.data, block.bytes);
    EXPECT_EQ(allocator.stats().pooled, static_cast<int64_t>(rounded(9 * kMiB)));
  }
}

TEST(HostAllocator, LargerScratchTakesThePlaceOfSmallerOnes) {
  if (!kMemoryIsPooled) GTEST_SKIP() << "every block has memory of its own";
  HostAllocator& allocator = fresh_allocator();
  for (size_t bytes : {2 * kMiB, 4 * kMiB, 9 * kMiB}) {
    const ScratchBlock block = allocator.allocate_scratch(bytes);
    allocator.release(block.data, block.bytes);
    EXPECT_EQ(allocator.stats().pooled, static_cast<int64_t>(rounded(bytes)));
  }
  const ScratchBlock first = allocator.allocate_scratch(9 * kMiB), second = allocator.allocate_scratch(2 * kMiB);
  EXPECT_NE(first.data, second.data);
  allocator.release(first.data, first.bytes);
  allocator.release(second.data, second.bytes);
  EXPECT_EQ(allocator.stats().live, 0);
}

TEST(HostAllocator, ScratchLeavesMuchLargerBlocksToArrays) {
  if (!kMemoryIsPooled) GTEST_SKIP() << "every block has memory of its own";
  HostAllocator& allocator = fresh_allocator();
  allocator.release(allocator.allocate(100 * kMiB), 100 * kMiB);
  const ScratchBlock block = allocator.allocate_scratch(2 * kMiB);
  EXPECT_EQ(block.bytes, 2 * kMiB);
  EXPECT_EQ(allocator.stats().pooled, static_cast<int64_t>(rounded(100 * kMiB)));
  allocator.release(block.data, block.bytes);
}

TEST(HostAllocator, BlocksAreAlignedAndDisjoint) {
  HostAllocator& allocator = fresh_allocator();
  std::vector<std::pair<char*, size_t>> blocks;
  for (size_t bytes : {0u, 1u, 64u, 65u, 1000u, 1024u, 1025u, 4096u, 100'000u, 1'048'576u, 1'048'577u, 5'000'000u}) {
    for (int i = 0; i < 3; ++i) {
      char* block = static_cast<char*>(allocator.allocate(bytes));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
      std::memset(block, static_cast<int>(blocks.size()), bytes);
      blocks.push_back({block, bytes});
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto [block, bytes] = blocks[i];
    EXPECT_TRUE(std::all_of(block, block + bytes, [&](char c) { return c == static_cast<char>(i); }));
    allocator.release(block, bytes);
  }
  allocator.release(nullptr, 10);
  EXPECT_EQ(allocator.stats().live, 0);
}

TEST(HostAllocator, LargeBlocksAreAlignedToHugePages) {
  HostAllocator& allocator = fresh_allocator();
  void* block = allocator.allocate(3 * kMiB);
  if (kMemoryIsPooled) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (2 * kMiB), 0u);
  }
  allocator.release(block, 3 * kMiB);
}

TEST(HostAllocator, ReleasedBlocksAreUsedAgain) {
  if (!kMemoryIsPooled) GTEST_SKIP() << "no pool under AddressSanitizer";
  HostAllocator& allocator = fresh_allocator();
  for (size_t bytes : {size_t{100}, size_t{5000}, kMiB, 64 * kMiB}) {
    void* first = allocator.allocate(bytes);
    allocator.release(first, bytes);
    void* second = allocator.allocate(bytes - 1);
    EXPECT_EQ(first, second) << bytes;
    allocator.release(second, bytes - 1);
  }
}

TEST(HostAllocator, StatsAreExact) {
  HostAllocator& allocator = fresh_allocator();
  EXPECT_EQ(allocator.stats().live, 0);
  const size_t small = 40, large = 8 * kMiB;
  void* a = allocator.allocate(small);
  EXPECT_EQ(allocator.stats().live, 64);
  void* b = allocator.allocate(large);
  EXPECT_EQ(allocator.stats().live, 64 + static_cast<int64_t>(large));
  const int64_t pooled = allocator.stats().pooled;  // arena blocks of other tests stay pooled
  allocator.release(b, large);
  EXPECT_EQ(allocator.stats().live, 64);
  EXPECT_EQ(allocator.stats().peak, 64 + static_cast<int64_t>(large));
  if (kMemoryIsPooled) {
    EXPECT_EQ(allocator.stats().pooled, pooled + static_cast<int64_t>(large));
  }
  allocator.trim();
  EXPECT_EQ(allocator.stats().pooled, pooled);
  allocator.reset_peak();
  EXPECT_EQ(allocator.stats().peak, 64);
  void* c = allocator.allocate(1000);
  allocator.release(c, 1000);
  EXPECT_EQ(allocator.stats().peak, 64 + 1024);
  allocator.release(a, small);
  EXPECT_EQ(allocator.stats().live, 0);
}

TEST(HostAllocator, AbsurdSizesAreRefusedWithAText) {
  HostAllocator& allocator = fresh_allocator();
  void* held = allocator.allocate(kMiB);
  for (size_t bytes : {~size_t{0}, ~size_t{0} / 2, size_t{1} << 50, static_cast<size_t>(physical_memory()) + 1}) {
    try {
      allocator.allocate(bytes);
      FAIL() << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kMemory);
      EXPECT_NE(std::string(error.what()).find("cannot allocate"), std::string::npos) << error.what();
    }
  }
  allocator.release(held, kMiB);
  EXPECT_EQ(allocator.stats().live, 0);
}

// Address space is not memory: what is already handed out counts.
TEST(HostAllocator, TheSumIsBoundedByTheMemory) {
  if (!kMemoryIsPooled) GTEST_SKIP() << "no pool under AddressSanitizer";
  HostAllocator& allocator = fresh_allocator();
  const size_t most = static_cast<size_t>(physical_memory()) / 5 * 2;
  if (std::cmp_less(available_memory(), most)) GTEST_SKIP() << "others use the machine's memory";
  void* a = allocator.allocate(most);
  void* b = allocator.allocate(most);
  EXPECT_THROW(allocator.allocate(most), Error);
  allocator.release(b, most);
  void* c = allocator.allocate(most / 2 * 3 / 2);  // the pooled block makes room
  allocator.release(a, most);
  allocator.release(c, most / 2 * 3 / 2);
  EXPECT_EQ(allocator.stats().live, 0);
  allocator.trim();
}

// Nor is all memory ours.
TEST(HostAllocator, WhatOthersUseIsNotPromised) {
  if (!kMemoryIsPooled) GTEST_SKIP() << "no pool under AddressSanitizer";
  const int64_t bytes = physical_memory() - 64 * static_cast<int64_t>(kMiB);
  if (bytes - free_swap() <= available_memory()) GTEST_SKIP() << "the machine has swap, or nobody uses it";
  HostAllocator& allocator = fresh_allocator();
  try {
    allocator.allocate(static_cast<size_t>(bytes));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    EXPECT_NE(std::string_view(error.what()).find("of which others"), std::string_view::npos) << error.what();
  }
  EXPECT_EQ(allocator.stats().live, 0);
}

TEST(HostAllocator, ThreadsPassBlocksOn) {
  HostAllocator& allocator = fresh_allocator();
  constexpr int kThreads = 4, kRounds = 300;
  std::vector<std::pair<void*, size_t>> passed[kThreads];
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t + round * 10));
        auto& own = passed[t];
        for (auto [block, bytes] : own) allocator.release(block, bytes);
        own.clear();
        for (int i = 0; i < kRounds; ++i) {
          const size_t bytes = random() % (i % 10 ? 2000 : 300'000);
          void* block = allocator.allocate(bytes);
          std::memset(block, t, std::min<size_t>(bytes, 100));
          own.push_back({block, bytes});
        }
      });
    }
    for (auto& thread : threads) thread.join();
    std::rotate(passed, passed + 1, passed + kThreads);
    int64_t expected = 0;
    for (auto& list : passed)
      for (auto [block, bytes] : list) expected += static_cast<int64_t>(rounded(bytes));
    EXPECT_EQ(allocator.stats().live, expected);
    EXPECT_GE(allocator.stats().peak, expected - kThreads * MemoryCounter::kReportBytes);
  }
  for (auto& list : passed)
    for (auto [block, bytes] : list) allocator.release(block, bytes);
  EXPECT_EQ(allocator.stats().live, 0);
}

// What threads have not reported belongs to the curve: one allocates and another releases here.
TEST(HostAllocator, TheCurveHasWhatIsLive) {
  HostAllocator& allocator = fresh_allocator();
  void* passed[] = {allocator.allocate(20'000), allocator.allocate(20'000)};
  const int64_t before = allocator.stats().live;
  timeline::start();
  std::thread([&] {
    for (void* block : passed) allocator.release(block, 20'000);
    allocator.release(allocator.allocate(kMiB), kMiB);
  }).join();
  timeline::stop();
  std::vector<int64_t> live;
  for (const timeline::Lane& lane : timeline::collect())
    for (const timeline::Sample& sample : lane.samples)
      if (sample.name == std::string_view("Memory: cpu/0")) live.push_back(sample.value);
  const auto expected = before - 2 * static_cast<int64_t>(rounded(20'000));
  EXPECT_EQ(live, (std::vector<int64_t>{expected + static_cast<int64_t>(rounded(kMiB)), expected}));
}

}  // namespace
}  // namespace headrace
